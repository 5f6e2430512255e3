//! The two lists from a config and from the environment, merged (POL-9).

use crate::create::ListPlace;

/// The variable over `tools.allowedTools`.
pub const ALLOWED_TOOLS_VARIABLE: &str = "MONO_AGENT_ALLOWED_TOOLS";
/// The variable over `tools.disallowedTools`.
pub const DISALLOWED_TOOLS_VARIABLE: &str = "MONO_AGENT_DISALLOWED_TOOLS";

/// One list and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedList {
    /// The entries; `None` where nobody gave the list.
    pub entries: Option<Vec<String>>,
    /// Where they stand.
    pub place: ListPlace,
}

/// The value of a list variable: unset gives `None`, empty (or only white space) gives `[]`, else the
/// comma-separated names without the space around them. An empty item stays, and is then refused (POL-4).
pub fn variable_list(value: Option<&str>) -> Option<Vec<String>> {
    let value = value?;
    if value.trim().is_empty() {
        return Some(Vec::new());
    }
    Some(value.split(',').map(|item| item.trim().to_owned()).collect())
}

/// One list: the variable wins where it is set, else the setting counts.
///
/// ```
/// use host_policy::{ALLOWED_TOOLS_VARIABLE, merge_list};
/// let list = merge_list(None, "tools.allowedTools", Some(""), ALLOWED_TOOLS_VARIABLE);
/// assert_eq!(list.entries, Some(vec![]));
/// ```
pub fn merge_list(
    setting: Option<Vec<String>>,
    setting_name: &str,
    value: Option<&str>,
    variable: &str,
) -> PlacedList {
    match variable_list(value) {
        Some(entries) => {
            PlacedList { entries: Some(entries), place: ListPlace::Variable(variable.to_owned()) }
        }
        None => PlacedList { entries: setting, place: ListPlace::Setting(setting_name.to_owned()) },
    }
}
