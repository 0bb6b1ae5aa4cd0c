//! `#[derive(TupleField)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Fields, Result};

use crate::attributes::{refuse_on, root_path};

const MAX_VARIANTS: usize = 256;

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let root = root_path(&input.attrs)?;
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "`TupleField` is for enums; a struct's own fields are flat"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "an enum that is a field takes no parameters"));
    }
    if data.variants.is_empty() || data.variants.len() > MAX_VARIANTS {
        let message = format!("an enum that is a field has 1 to {MAX_VARIANTS} variants");
        return Err(Error::new_spanned(&input.ident, message));
    }
    for variant in &data.variants {
        refuse_on(&variant.attrs, "variants")?;
        if !matches!(variant.fields, Fields::Unit) {
            let message = "a variant of a field holds no data: it is sent as its name; use a field of its own instead";
            return Err(Error::new_spanned(&variant.fields, message));
        }
    }

    let name = &input.ident;
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let names = variants.iter().map(|variant| variant.unraw().to_string());
    let indices: Vec<_> = (0..variants.len()).map(|index| index as u8).collect();
    Ok(quote! {
        const _: () = {
            use #root::derived as __derived;

            impl __derived::UnitEnum for #name {
                const NAMES: &'static [&'static str] = &[#(#names),*];

                #[inline]
                fn index(self) -> u8 {
                    match self { #(#name::#variants => #indices),* }
                }

                #[inline]
                fn from_index(index: u8) -> ::core::option::Option<Self> {
                    match index {
                        #(#indices => ::core::option::Option::Some(#name::#variants),)*
                        #[allow(unreachable_patterns)]
                        _ => ::core::option::Option::None,
                    }
                }
            }

            // SAFETY: `resolve` writes the one byte of its slot; the kind names the variants.
            unsafe impl __derived::Field for #name {
                type Archived = __derived::ArchivedEnum<#name>;
                type Native<'v> = #name;

                const KIND: __derived::Kind = __derived::Kind::Enum(<#name as __derived::UnitEnum>::NAMES);
                const FIXED: bool = true;
                const LEVELS: usize = 0;

                #[inline]
                fn store(
                    &self,
                    _: &mut __derived::Encoder<'_>,
                ) -> ::core::result::Result<__derived::Stored, __derived::EncodeError> {
                    ::core::result::Result::Ok(0)
                }

                #[inline]
                unsafe fn resolve(&self, _: __derived::Stored, slot: __derived::Slot<Self::Archived>) {
                    // SAFETY: valid for writes, as the caller promises.
                    unsafe { slot.pointer().write(__derived::ArchivedEnum::new(*self)) };
                }

                #[inline]
                fn native(archived: &Self::Archived) -> Self::Native<'_> {
                    archived.get()
                }

                #[inline]
                fn from_dynamic(value: &__derived::ArchivedValue) -> ::core::option::Option<Self::Native<'_>> {
                    __derived::variant_named(value)
                }

                #[inline]
                fn field_ref(&self) -> __derived::FieldRef<'_> {
                    __derived::FieldRef::Str(
                        <#name as __derived::UnitEnum>::NAMES[__derived::UnitEnum::index(*self) as usize],
                    )
                }
            }

            impl __derived::Item for #name {}
        };
    })
}
