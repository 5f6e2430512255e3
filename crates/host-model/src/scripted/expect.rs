//! What a line expects of the results before it.

use host_ports::model::ToolResult;
use host_vocab::blocks_text;
use host_vocab::text::one_line;
use serde::Deserialize;
use serde_json::Value;

/// One expectation. With `tool` it looks at that tool's results, else at all.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Expectation {
    tool: Option<String>,
    contains: Option<String>,
    not_contains: Option<String>,
    equals: Option<String>,
    is_error: Option<bool>,
}

impl Expectation {
    /// Reads `expect`: a text (some result contains it), an object, or a list of those.
    pub(super) fn read(value: Value) -> Result<Vec<Expectation>, String> {
        match value {
            Value::Null => Ok(Vec::new()),
            Value::String(text) => Ok(vec![Expectation { contains: Some(text), ..Expectation::default() }]),
            Value::Object(_) => {
                serde_json::from_value(value).map(|one| vec![one]).map_err(|error| format!("expect: {error}"))
            }
            Value::Array(list) => {
                Ok(list.into_iter().map(Expectation::read).collect::<Result<Vec<_>, _>>()?.concat())
            }
            _ => Err("expect: a text, an object or a list of them is wanted".to_owned()),
        }
    }

    fn fits(&self, result: &ToolResult) -> bool {
        let text = blocks_text(&result.content);
        self.tool.as_ref().is_none_or(|tool| *tool == result.name)
            && self.contains.as_ref().is_none_or(|part| text.contains(part.as_str()))
            && self.not_contains.as_ref().is_none_or(|part| !text.contains(part.as_str()))
            && self.equals.as_ref().is_none_or(|whole| text == *whole)
            && self.is_error.is_none_or(|is_error| is_error == result.is_error)
    }

    fn in_words(&self) -> String {
        let mut out = match &self.tool {
            Some(tool) => vec![format!("a result of {tool}")],
            None => vec!["a result".to_owned()],
        };
        out.extend(self.contains.as_ref().map(|text| format!("containing {text:?}")));
        out.extend(self.not_contains.as_ref().map(|text| format!("without {text:?}")));
        out.extend(self.equals.as_ref().map(|text| format!("equal to {text:?}")));
        let kind = |is_error| if is_error { "that is an error" } else { "that is no error" };
        out.extend(self.is_error.map(|is_error| kind(is_error).to_owned()));
        out.join(" ")
    }
}

/// Checks all expectations: for each there must be a result that fits.
pub(super) fn check(expectations: &[Expectation], results: &[ToolResult]) -> Result<(), String> {
    let Some(missed) = expectations.iter().find(|wanted| !results.iter().any(|result| wanted.fits(result)))
    else {
        return Ok(());
    };
    let seen: Vec<String> = results
        .iter()
        .take(4)
        .map(|result| {
            let kind = if result.is_error { " (error)" } else { "" };
            format!("{}{kind}: {:?}", result.name, one_line(&blocks_text(&result.content), 120))
        })
        .collect();
    let seen = if seen.is_empty() { "there are no results".to_owned() } else { seen.join("; ") };
    Err(format!("{} was wanted; {seen}", missed.in_words()))
}
