//! How the parts of a policy are made out of a list of their settings.

use serde_json::{Map, Value};

use crate::error::ConfigError;
use crate::setting::Setting;

/// Where values of settings come from.
pub(crate) trait Source {
    /// The value of `key` in the table `section` (empty: none), if there is one.
    fn get<T: Setting>(&mut self, section: &str, key: &str) -> Result<Option<T>, ConfigError>;
}

/// The name of a setting, with the table it stands in.
pub(crate) fn full_key(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}

/// A table of a policy, shown.
pub(crate) type Shown = Map<String, Value>;

/// Makes a part of the policy, with every setting, and its layer, in which each
/// setting may be missing.
macro_rules! section {
    (
        $(#[$meta:meta])*
        $name:ident / $layer:ident in $table:literal {
            $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $name {
            pub(crate) fn layer(&mut self, over: &$layer) {
                $(if let Some(value) = &over.$field {
                    self.$field.clone_from(value);
                })*
            }

            pub(crate) fn show(&self) -> crate::section::Shown {
                let mut shown = crate::section::Shown::new();
                $(shown.insert(
                    stringify!($field).to_owned(),
                    crate::setting::Setting::show(&self.$field),
                );)*
                shown
            }
        }

        #[doc = concat!("What a layer says of [`", stringify!($name), "`].")]
        #[derive(Clone, Debug, Default, PartialEq)]
        // `Some(None)` switches off what a lower layer has set.
        #[allow(clippy::option_option)]
        pub struct $layer {
            $($(#[doc = $doc])+ pub $field: Option<$type>,)*
        }

        impl $layer {
            /// Each key, and what it is.
            pub(crate) const KEYS: &[(&str, &str)] =
                &[$((stringify!($field), concat!($($doc),+))),*];

            pub(crate) fn read(
                source: &mut impl crate::section::Source,
            ) -> Result<Self, crate::error::ConfigError> {
                Ok(Self { $($field: source.get::<$type>($table, stringify!($field))?,)* })
            }
        }
    };
}

pub(crate) use section;
