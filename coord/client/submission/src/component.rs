//! What stands in a `ComponentObject` for a component that is Rust code.
//!
//! Storm has three members: a serialized Java object, a command that speaks the multilang protocol, and a Java object that
//! is made where it runs, by the name of its class and arguments. A Rust component is of the third: the class is
//! [`COMPONENT_CLASS`], and its one argument is a text, the name of the Rust type, if that is known. No Java loads it. Storm's
//! tools show it as they show any class.
//!
//! In the same way a custom grouping is [`GROUPING_CLASS`] with the name that is shown for it, and partial key grouping
//! is Storm's own class with its fields.
//!
//! Threading: pure functions. Errors: none.

use ringstorm_records::records::{ComponentObject, JavaObject, JavaObjectArg};

/// Stands for a component whose code is Rust.
pub const COMPONENT_CLASS: &str = "ringstorm.Component";
/// Stands for a grouping whose code is Rust.
pub const GROUPING_CLASS: &str = "ringstorm.CustomGrouping";
/// Storm's class for partial key grouping.
pub const PARTIAL_KEY_CLASS: &str = "org.apache.storm.grouping.PartialKeyGrouping";

/// What stands for a component of this Rust type; empty where that is not known.
pub fn component_object(type_name: &str) -> ComponentObject {
    let known = Some(type_name).filter(|name| !name.is_empty());
    ComponentObject::JavaObject(class(COMPONENT_CLASS, known))
}

/// The Rust type of a component that [`component_object`] made, empty where it was not known; `None` of any other object.
pub fn type_name(object: &ComponentObject) -> Option<&str> {
    match object {
        ComponentObject::JavaObject(JavaObject { full_class_name, args_list })
            if full_class_name == COMPONENT_CLASS =>
        {
            Some(match args_list.first() {
                Some(JavaObjectArg::StringArg(name)) => name,
                _ => "",
            })
        }
        _ => None,
    }
}

/// A class with texts as arguments.
pub(crate) fn class<'a>(name: &str, arguments: impl IntoIterator<Item = &'a str>) -> JavaObject {
    let arguments = arguments.into_iter().map(|text| JavaObjectArg::StringArg(text.to_owned()));
    JavaObject { full_class_name: name.to_owned(), args_list: arguments.collect() }
}

#[cfg(test)]
mod tests {
    use ringstorm_records::records::ShellComponent;

    use super::*;

    #[test]
    fn the_type_is_found_again_and_other_objects_have_none() {
        assert_eq!(type_name(&component_object("app::Count")), Some("app::Count"));
        assert_eq!(type_name(&component_object("")), Some(""));
        assert_eq!(type_name(&ComponentObject::JavaObject(class("org.example.Bolt", ["a"]))), None);
        assert_eq!(type_name(&ComponentObject::Shell(ShellComponent::default())), None);
    }
}
