//! The type that says "this went through the redactor".

/// A value that holds no known secret. Only [`crate::Redactor`] makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Clean<T>(T);

impl<T> Clean<T> {
    pub(crate) const fn new(value: T) -> Self {
        Clean(value)
    }

    /// The value.
    pub const fn get(&self) -> &T {
        &self.0
    }

    /// The value itself.
    pub fn into_inner(self) -> T {
        self.0
    }
}
