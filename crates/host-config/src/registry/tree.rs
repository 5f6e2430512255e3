//! The registry as a tree, by which a file is walked.

use super::Field;
use indexmap::IndexMap;
use std::sync::OnceLock;

/// One place of the tree.
#[derive(Debug, Default)]
pub struct Branch {
    /// The field at this place; none where it is a section that only holds others.
    pub field: Option<&'static Field>,
    /// The named keys below.
    pub children: IndexMap<&'static str, Branch>,
    /// What stands under free keys.
    pub any: Option<Box<Branch>>,
    /// What stands in each item of the list.
    pub item: Option<Box<Branch>>,
}

impl Branch {
    /// The branch of a key: a named one, else what stands under free keys.
    pub fn key(&self, key: &str) -> Option<&Branch> {
        self.children.get(key).or(self.any.as_deref())
    }

    /// The branch at a path as the registry writes it.
    pub fn at(&self, path: &str) -> Option<&Branch> {
        steps(path).try_fold(self, |branch, step| match step {
            "[]" => branch.item.as_deref(),
            "*" => branch.any.as_deref(),
            key => branch.children.get(key),
        })
    }

    /// Whether values below this place have keys or items of their own in the registry.
    pub fn is_leaf(&self) -> bool {
        self.children.is_empty() && self.any.is_none() && self.item.is_none()
    }

    fn grow(&mut self, path: &'static str, field: &'static Field) {
        let end = steps(path).fold(self, |branch, step| match step {
            "[]" => branch.item.get_or_insert_default(),
            "*" => branch.any.get_or_insert_default(),
            key => branch.children.entry(key).or_default(),
        });
        end.field = Some(field);
    }
}

/// The steps of a registry path: keys, `*` and `[]`.
pub(crate) fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').flat_map(|part| {
        let (name, item) = match part.strip_suffix("[]") {
            Some(name) => (name, Some("[]")),
            None => (part, None),
        };
        std::iter::once(name).chain(item)
    })
}

/// The whole registry as a tree.
pub fn tree() -> &'static Branch {
    static TREE: OnceLock<Branch> = OnceLock::new();
    TREE.get_or_init(|| {
        let mut root = Branch::default();
        for field in super::fields() {
            root.grow(field.path, field);
        }
        root
    })
}
