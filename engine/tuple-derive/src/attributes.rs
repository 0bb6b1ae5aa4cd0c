//! The attribute `#[tuple(crate = path)]`.

use syn::{Attribute, Path, Result, parse_quote};

/// The path of `ringstorm-tuple`'s contents.
pub(crate) fn root_path(attributes: &[Attribute]) -> Result<Path> {
    let mut root = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("tuple")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown option: the only one is `crate = path`"));
            }
            if root.is_some() {
                return Err(meta.error("`crate` is given twice"));
            }
            root = Some(meta.value()?.call(Path::parse_mod_style)?);
            Ok(())
        })?;
    }
    Ok(root.unwrap_or_else(|| parse_quote!(::ringstorm::__private::tuple)))
}

/// Refuses the attribute where it means nothing.
pub(crate) fn refuse_on(attributes: &[Attribute], place: &str) -> Result<()> {
    match attributes.iter().find(|attribute| attribute.path().is_ident("tuple")) {
        None => Ok(()),
        Some(attribute) => Err(syn::Error::new_spanned(attribute, format!("{place} take no `tuple` attribute"))),
    }
}
