//! `#[derive(Tuple)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Data, DeriveInput, Error, Field, Fields, GenericParam, Ident, Index, Lifetime, Result, Type, TypeReference,
    parse_quote,
};

use crate::attributes::{refuse_on, root_path};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let root = root_path(&input.attrs)?;
    let fields = named_fields(input)?;
    let lifetime = only_lifetime(input)?;
    for field in &fields {
        refuse_on(&field.attrs, "fields")?;
        refuse_type(&field.ty)?;
    }

    let name = &input.ident;
    let visibility = &input.vis;
    let view = format_ident!("{}View", name);
    let idents: Vec<&Ident> = fields.iter().filter_map(|field| field.ident.as_ref()).collect();
    let names: Vec<String> = idents.iter().map(|ident| ident.unraw().to_string()).collect();
    // How a field lies in a payload does not depend on how long the struct borrows, so one lifetime serves for all.
    let types: Vec<Type> = fields.iter().map(|field| with_static_lifetime(&field.ty)).collect();
    // With the span of the type, so that the compiler points there if it is no field type.
    let as_field = |of: &Type, field: TokenStream| quote_spanned!(of.span()=> <#of as #field>);
    let view_fields: Vec<_> = types.iter().map(|of| as_field(of, quote!(#root::Field))).collect();
    let wire_fields: Vec<_> = types.iter().map(|of| as_field(of, quote!(__derived::Field))).collect();
    let own_fields: Vec<_> = fields.iter().map(|field| as_field(&field.ty, quote!(__derived::Field))).collect();
    let checks = types.iter().map(|of| quote_spanned!(of.span()=> __IsField<#of>));
    let indices: Vec<usize> = (0..fields.len()).collect();
    let members: Vec<Index> = indices.iter().map(|index| Index::from(*index)).collect();
    let count = fields.len();
    let (arguments, static_arguments) = match &lifetime {
        Some(lifetime) => (quote!(<#lifetime>), quote!(<'static>)),
        None => (quote!(), quote!()),
    };
    let view_doc = format!("A [`{name}`] as it lies in a payload: one method per field.");
    let field_docs = fields.iter().zip(&names).map(|(field, name)| documentation(field, name));

    Ok(quote! {
        // First of all, so that the first error about a type that is no field type is short and points at it.
        const _: () = {
            #[allow(unused_imports)]
            use #root::derived::IsField as __IsField;
            #[allow(dead_code)]
            struct __Fields(#(#checks),*);
        };

        #[doc = #view_doc]
        #[derive(::core::clone::Clone, ::core::marker::Copy)]
        #visibility struct #view<'v>(#root::derived::Record<'v, #name #static_arguments>);

        impl<'v> #view<'v> {
            #(
                #field_docs
                #[inline]
                #[must_use]
                #visibility fn #idents(self) -> #view_fields::Native<'v> {
                    self.0.get::<#types>(|root| &root.#members, #indices)
                }
            )*
        }

        impl ::core::fmt::Debug for #view<'_> {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter
                    .debug_struct(::core::stringify!(#name))
                    #(.field(#names, &#view::#idents(*self)))*
                    .finish()
            }
        }

        const _: () = {
            use #root::derived as __derived;

            /// The root of a payload: the fields in order, without alignment or padding.
            #[repr(C)]
            pub struct __Archived(#(#wire_fields::Archived),*);

            const __FIXED: bool = true #(&& #wire_fields::FIXED)*;

            // SAFETY: what is written, read and checked below are the same fields in the same order.
            unsafe impl #arguments #root::Tuple for #name #arguments {
                type Archived = __Archived;
                type View<'v> = #view<'v>;

                const FIELDS: &'static [&'static str] = &[#(#names),*];
                const KINDS: &'static [__derived::Kind] = &[#(#wire_fields::KIND),*];
                const LAYOUT: __derived::LayoutHash = __derived::LayoutHash::of(Self::FIELDS, Self::KINDS);
                const FIXED_SIZE: ::core::option::Option<usize> = if __FIXED {
                    ::core::option::Option::Some(::core::mem::size_of::<__Archived>())
                } else {
                    ::core::option::Option::None
                };

                #[inline]
                fn size_hint(&self) -> usize {
                    ::core::mem::size_of::<__Archived>()
                        #(+ #own_fields::out_of_line_bytes(&self.#idents))*
                }

                #[inline]
                fn serialize(
                    &self,
                    out: &mut ::std::vec::Vec<u8>,
                ) -> ::core::result::Result<(), __derived::EncodeError> {
                    // SAFETY: every field's slot is resolved, and there is no padding between them.
                    unsafe {
                        __derived::encode::<__Archived, { #count }>(
                            out,
                            __FIXED,
                            #root::Tuple::size_hint(self),
                            |_encoder| ::core::result::Result::Ok([
                                #(#own_fields::store(&self.#idents, _encoder)?),*
                            ]),
                            |_stored, _slot| {
                                #(
                                    #own_fields::resolve(
                                        &self.#idents,
                                        _stored[#indices],
                                        _slot.part(::core::mem::offset_of!(__Archived, #members)),
                                    );
                                )*
                            },
                        )
                    }
                }

                #[inline]
                fn field(&self, index: usize) -> __derived::FieldRef<'_> {
                    match index {
                        #(#indices => #own_fields::field_ref(&self.#idents),)*
                        _ => __derived::FieldRef::Null,
                    }
                }

                #[inline]
                unsafe fn view(payload: &[u8]) -> #view<'_> {
                    // SAFETY: a payload of this layout, as the caller promises.
                    #view(__derived::Record::Typed(unsafe { __derived::root(payload) }))
                }

                fn view_values(
                    values: &__derived::ArchivedValues,
                ) -> ::core::result::Result<#view<'_>, __derived::ViewError> {
                    let _fields = __derived::check_count(values, #count)?;
                    #(__derived::check_value::<#types>(&_fields[#indices], #indices, #names)?;)*
                    ::core::result::Result::Ok(#view(__derived::Record::Dynamic(values)))
                }

                unsafe fn archived_field(payload: &[u8], index: usize) -> __derived::FieldRef<'_> {
                    // SAFETY: a payload of this layout, as the caller promises.
                    let _root: &__Archived = unsafe { __derived::root(payload) };
                    match index {
                        #(#indices => #wire_fields::archived_ref(&_root.#members),)*
                        _ => __derived::FieldRef::Null,
                    }
                }

                fn validate(payload: &[u8]) -> ::core::result::Result<(), __derived::ValidateError> {
                    const LEVELS: usize = __derived::levels(&[#(#wire_fields::LEVELS),*]);
                    __derived::check_record::<__Archived>(payload, __FIXED, LEVELS, |_root, _validator| {
                        #(
                            // SAFETY: the field lies within the root, whose subtree the validator is in.
                            unsafe {
                                __derived::check_field::<#types>(
                                    &raw const (*_root).#members,
                                    #indices,
                                    #names,
                                    _validator,
                                )?;
                            }
                        )*
                        ::core::result::Result::Ok(())
                    })
                }
            }
        };
    })
}

fn named_fields(input: &DeriveInput) -> Result<Vec<&Field>> {
    let message = "a tuple is a struct with named fields: its fields are the declared fields of its stream";
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Ok(fields.named.iter().collect()),
            Fields::Unnamed(fields) => Err(Error::new_spanned(fields, message)),
            Fields::Unit => Err(Error::new_spanned(&input.ident, message)),
        },
        Data::Enum(data) => {
            let message = format!("{message}; an enum of units can be a field, with `#[derive(TupleField)]`");
            Err(Error::new_spanned(data.enum_token, message))
        }
        Data::Union(data) => Err(Error::new_spanned(data.union_token, message)),
    }
}

fn only_lifetime(input: &DeriveInput) -> Result<Option<&Lifetime>> {
    let mut lifetime = None;
    for parameter in &input.generics.params {
        match parameter {
            GenericParam::Lifetime(parameter) if lifetime.is_none() => lifetime = Some(&parameter.lifetime),
            GenericParam::Lifetime(parameter) => {
                let message = "a tuple has at most one lifetime: let all of its fields borrow for the same";
                return Err(Error::new_spanned(parameter, message));
            }
            GenericParam::Type(_) | GenericParam::Const(_) => {
                let message = "a tuple has no type or const parameters: a stream carries one layout, so write one \
                               struct for each";
                return Err(Error::new_spanned(parameter, message));
            }
        }
    }
    Ok(lifetime)
}

/// What the author wrote about the field, or its name.
fn documentation(field: &Field, name: &str) -> TokenStream {
    let mut written = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).peekable();
    if written.peek().is_none() {
        let doc = format!("The field `{name}`.");
        return quote!(#[doc = #doc]);
    }
    quote!(#(#written)*)
}

/// Refuses the types that are most often tried and cannot be fields. The compiler finds all others, in more words.
fn refuse_type(of: &Type) -> Result<()> {
    let Type::Path(path) = of else { return Ok(()) };
    let Some(name) = path.path.get_ident() else { return Ok(()) };
    let instead = match name.to_string().as_str() {
        "usize" => "its size differs between machines: use `u64`",
        "isize" => "its size differs between machines: use `i64`",
        "u128" | "i128" => "integers have at most 64 bits: use two fields, or `[u8; 16]`",
        "char" => "use a string",
        _ => return Ok(()),
    };
    Err(Error::new_spanned(of, format!("`{name}` cannot be a field of a tuple: {instead}")))
}

fn with_static_lifetime(of: &Type) -> Type {
    struct MakeStatic;

    impl VisitMut for MakeStatic {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            lifetime.ident = Ident::new("static", lifetime.ident.span());
        }

        fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
            reference.lifetime.get_or_insert_with(|| parse_quote!('static));
            visit_mut::visit_type_reference_mut(self, reference);
        }
    }

    let mut with_static = of.clone();
    MakeStatic.visit_type_mut(&mut with_static);
    with_static
}
