//! A table with one vector for each token, read in this process (`wordllama`): a text is the mean of its
//! tokens. It needs no server and no model run; about 0.03 ms a text.

use super::tokenizer::Tokenizer;
use super::{CosineScale, EmbedError, Embedder, Purpose};
use crate::VectorIdentity;
use host_ports::BoxFuture;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Why a table can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The file with the numbers.
    #[error("the table of vectors can't be used: {0}")]
    Table(&'static str),
    /// The tokenizer.
    #[error("{0}")]
    Tokenizer(&'static str),
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// The table and its tokenizer.
pub struct StaticTable {
    model: String,
    tokenizer: Tokenizer,
    dim: usize,
    /// Half-precision numbers, row after row, as the file has them.
    rows: Vec<u8>,
}

impl StaticTable {
    /// How its cosines are read. Measured on the labelled set of the repository: a mean of words lies lower than
    /// a sentence model.
    pub const SCALE: CosineScale = CosineScale { floor: 0.38, same: 0.75 };

    /// From the bytes of a `.safetensors` file with one table of F16, and of its `tokenizer.json`.
    ///
    /// # Errors
    /// See [`TableError`].
    pub fn read(model: &str, safetensors: &[u8], tokenizer: &[u8]) -> Result<Self, TableError> {
        let bad = TableError::Table;
        let length = safetensors.first_chunk().ok_or(bad("it is cut"))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let head = safetensors.get(8..8_usize.saturating_add(length)).ok_or(bad("its head is cut"))?;
        let mut tensors: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(head).map_err(|_| bad("its head is no JSON"))?;
        tensors.remove("__metadata__");
        let named = ["embedding.weight", "embeddings"].iter().find_map(|name| tensors.remove(*name));
        let tensor: Tensor = serde_json::from_value(named.ok_or(bad("it holds no table of embeddings"))?)
            .map_err(|_| bad("its head is not of safetensors"))?;
        let [count, dim] = tensor.shape[..] else { return Err(bad("it is no table")) };
        let [from, until] = tensor.data_offsets;
        let whole = count.checked_mul(dim).and_then(|it| it.checked_mul(2));
        if tensor.dtype != "F16" || dim == 0 || count == 0 || whole != until.checked_sub(from) {
            return Err(bad("its numbers are not of half precision"));
        }
        let body = safetensors.get(8 + length..).unwrap_or_default();
        let rows = body.get(from..until).ok_or(bad("it is cut"))?.to_vec();
        let tokenizer = Tokenizer::read(tokenizer).map_err(TableError::Tokenizer)?;
        Ok(StaticTable { model: model.to_owned(), tokenizer, dim, rows })
    }

    /// The vector of a text, of length 1; all zeros for a text without tokens.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0_f32; self.dim];
        self.tokenizer.tokens(text, |token| {
            let at = token as usize * self.dim * 2;
            if let Some(row) = self.rows.get(at..at + self.dim * 2) {
                for (place, half) in sum.iter_mut().zip(row.chunks_exact(2)) {
                    *place += from_half(u16::from_le_bytes([half[0], half[1]]));
                }
            }
        });
        let length = sum.iter().map(|it| it * it).sum::<f32>().sqrt();
        if length > 0.0 {
            sum.iter_mut().for_each(|it| *it /= length);
        }
        sum
    }
}

/// A number of IEEE 754 half precision.
fn from_half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let (exponent, fraction) = (u32::from(bits >> 10) & 0x1f, u32::from(bits) & 0x3ff);
    match (exponent, fraction) {
        (0, fraction) => {
            #[allow(clippy::cast_precision_loss, reason = "ten bits")]
            let value = fraction as f32 / 16_777_216.0;
            if sign == 0 { value } else { -value }
        }
        (0x1f, fraction) => f32::from_bits(sign | 0x7f80_0000 | (fraction << 13)),
        (exponent, fraction) => f32::from_bits(sign | ((exponent + 112) << 23) | (fraction << 13)),
    }
}

impl Embedder for StaticTable {
    fn identity(&self) -> VectorIdentity {
        VectorIdentity { provider: "local".to_owned(), model: self.model.clone(), dim: self.dim }
    }

    fn scale(&self) -> CosineScale {
        Self::SCALE
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        _: Purpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async { Ok(texts.iter().map(|text| self.vector(text)).collect()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(head: &str, body: &[u8]) -> Vec<u8> {
        [&(head.len() as u64).to_le_bytes()[..], head.as_bytes(), body].concat()
    }

    fn tokenizer() -> Vec<u8> {
        let vocab = json!({"<unk>": 0, "<0xC3>": 1, "<0xA9>": 2, "▁": 3, "t": 4, "e": 5, "a": 6, "▁t": 7, "ea": 8, "▁tea": 9});
        json!({"model": {"type": "BPE", "vocab": vocab, "merges": ["▁ t", ["e", "a"], "▁t ea"]}})
            .to_string()
            .into_bytes()
    }

    #[test]
    fn half_precision() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x0000, 0.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65504.0),
        ] {
            assert!((from_half(bits) - value).abs() <= f32::EPSILON * value.abs(), "{bits:x}");
        }
    }

    // REC-2
    #[test]
    fn a_text_is_the_mean_of_its_tokens() {
        let mut body = vec![0; 10 * 2 * 2];
        body[9 * 4..].copy_from_slice(&[0x00, 0x3c, 0x00, 0x00]);
        body[4..12].copy_from_slice(&[0x00, 0x00, 0x00, 0x3c, 0x00, 0x00, 0x00, 0x3c]);
        let head = r#"{"embedding.weight":{"dtype":"F16","shape":[10,2],"data_offsets":[0,40]}}"#;
        let table = StaticTable::read("t", &file(head, &body), &tokenizer()).unwrap();
        assert_eq!(table.vector("tea"), [1.0, 0.0]);
        let both = table.vector("tea é");
        assert!(both[1] > both[0] && (both[0].hypot(both[1]) - 1.0).abs() < 1e-6);
        assert_eq!(table.vector(""), [0.0, 0.0]);
    }

    #[test]
    fn damaged_files_are_errors() {
        for head in [
            "",
            "{}",
            "no json",
            r#"{"embedding.weight":{"dtype":"F16","shape":[10,2],"data_offsets":[0,4000]}}"#,
            r#"{"embedding.weight":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}"#,
            r#"{"embedding.weight":{"dtype":"F16","shape":[18446744073709551615,2],"data_offsets":[0,4]}}"#,
            r#"{"embedding.weight":{"dtype":"F16","shape":[1,2],"data_offsets":[4,0]}}"#,
        ] {
            assert!(StaticTable::read("t", &file(head, &[0; 40]), &tokenizer()).is_err(), "{head}");
        }
        assert!(StaticTable::read("t", &[1, 2], b"{}").is_err());
        assert!(StaticTable::read("t", &u64::MAX.to_le_bytes(), b"{}").is_err());
    }
}
