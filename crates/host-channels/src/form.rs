//! A server's form, field by field, and what a person types into it (MCP-14).
//!
//! A form is a JSON Schema of an object with plain values: texts, numbers, yes or no, one choice or several. What
//! no field of these kinds can hold makes the form unreadable, and nobody is asked half of it.

use host_vocab::text;
use serde_json::{Map, Number, Value, json};

/// The most fields of one form.
const FIELDS_MAX: usize = 64;
/// The most choices of one field.
const CHOICES_MAX: usize = 200;
/// How much of a title or a description is shown, in characters.
const WORDS_MAX: usize = 300;

/// A form that can be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Its fields, in the schema's order.
    pub fields: Vec<Field>,
}

/// One field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The property's name.
    pub name: String,
    /// What people call it, on one line.
    pub title: String,
    /// What it is about, on one line; may be empty.
    pub about: String,
    /// Whether it must be filled in.
    pub required: bool,
    /// What stands there when nothing is typed.
    pub default: Option<Value>,
    /// What it takes.
    pub kind: FieldKind,
}

/// What a field takes.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// A text.
    Text {
        /// Its shortest and longest length, in characters.
        length: (Option<u64>, Option<u64>),
        /// `email`, `uri`, `date` or `date-time`.
        format: Option<String>,
    },
    /// A number.
    Number {
        /// Whether it must be whole.
        whole: bool,
        /// Its bounds.
        bounds: (Option<f64>, Option<f64>),
    },
    /// Yes or no.
    YesNo,
    /// One of these.
    One(Vec<Choice>),
    /// Several of these.
    Several {
        /// The choices.
        of: Vec<Choice>,
        /// How many, at least and at most.
        count: (Option<u64>, Option<u64>),
    },
}

/// A choice and its name for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// What is sent.
    pub value: String,
    /// What is shown.
    pub title: String,
}

impl Form {
    /// Reads a schema. None = it is no form that a person could fill in here.
    pub fn read(schema: &Value) -> Option<Form> {
        let properties = schema.get("properties")?.as_object()?;
        if properties.len() > FIELDS_MAX {
            return None;
        }
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let fields = properties.iter().map(|(name, property)| {
            let words =
                |key: &str| property.get(key).and_then(Value::as_str).map(|it| text::one_line(it, WORDS_MAX));
            Some(Field {
                name: name.clone(),
                title: words("title").unwrap_or_else(|| text::one_line(name, WORDS_MAX)),
                about: words("description").unwrap_or_default(),
                required: required.contains(&name.as_str()),
                default: property.get("default").cloned(),
                kind: kind(property)?,
            })
        });
        Some(Form { fields: fields.collect::<Option<_>>()? })
    }
}

fn kind(property: &Value) -> Option<FieldKind> {
    let count = |key: &str| property.get(key).and_then(Value::as_u64);
    let bound = |key: &str| property.get(key).and_then(Value::as_f64);
    match property.get("type").and_then(Value::as_str) {
        Some("string") if property.get("enum").is_some() || property.get("oneOf").is_some() => {
            Some(FieldKind::One(choices(property)?))
        }
        Some("string") => Some(FieldKind::Text {
            length: (count("minLength"), count("maxLength")),
            format: property.get("format").and_then(Value::as_str).map(str::to_owned),
        }),
        Some(kind @ ("number" | "integer")) => {
            Some(FieldKind::Number { whole: kind == "integer", bounds: (bound("minimum"), bound("maximum")) })
        }
        Some("boolean") => Some(FieldKind::YesNo),
        Some("array") => Some(FieldKind::Several {
            of: choices(property.get("items")?)?,
            count: (count("minItems"), count("maxItems")),
        }),
        _ => None,
    }
}

/// The five shapes in which choices come: `enum`, `enum` with `enumNames`, `oneOf`, and of a list's items `enum`
/// or `anyOf`.
fn choices(of: &Value) -> Option<Vec<Choice>> {
    let choice = |value: &str, title: &str| Choice {
        value: value.to_owned(),
        title: text::one_line(title, WORDS_MAX),
    };
    let list = |key: &str| of.get(key).and_then(Value::as_array);
    let all: Option<Vec<Choice>> = match (list("enum"), list("oneOf").or_else(|| list("anyOf"))) {
        (Some(values), _) => {
            let names = list("enumNames");
            let name = |index: usize| names.and_then(|names| names.get(index)?.as_str());
            let each = |(index, value): (usize, &Value)| {
                let value = value.as_str()?;
                Some(choice(value, name(index).unwrap_or(value)))
            };
            values.iter().enumerate().map(each).collect()
        }
        (None, Some(titled)) => titled
            .iter()
            .map(|it| {
                let value = it.get("const")?.as_str()?;
                Some(choice(value, it.get("title").and_then(Value::as_str).unwrap_or(value)))
            })
            .collect(),
        (None, None) => None,
    };
    all.filter(|all| !all.is_empty() && all.len() <= CHOICES_MAX)
}

impl Field {
    /// What was typed, as the value; none = nothing was typed and nothing need stand there. The default counts
    /// where nothing was typed.
    ///
    /// # Errors
    /// What it takes instead, in words for the person.
    pub fn understand(&self, typed: &str) -> Result<Option<Value>, String> {
        let typed = typed.trim();
        if typed.is_empty() {
            return match (&self.default, self.required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, true) => Err("this must be filled in".to_owned()),
                (None, false) => Ok(None),
            };
        }
        self.kind.understand(typed).map(Some)
    }

    /// What it takes, on one line.
    pub fn takes(&self) -> String {
        let mut out = self.kind.takes();
        match &self.default {
            Some(default) => {
                let shown = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
                out += &format!("; empty = {}", text::one_line(&shown, 80));
            }
            None if !self.required => out += "; empty = nothing",
            None => {}
        }
        out
    }
}

impl FieldKind {
    fn takes(&self) -> String {
        let range = |low: Option<String>, high: Option<String>| match (low, high) {
            (Some(low), Some(high)) => format!(" from {low} to {high}"),
            (Some(low), None) => format!(" from {low}"),
            (None, Some(high)) => format!(" up to {high}"),
            (None, None) => String::new(),
        };
        let of = |it: Option<u64>| it.map(|it| it.to_string());
        match self {
            FieldKind::Text { length, format } => {
                let characters = range(of(length.0), of(length.1));
                let what = format.as_deref().map_or("text".to_owned(), |it| text::one_line(it, 40));
                if characters.is_empty() { what } else { format!("{what},{characters} characters") }
            }
            FieldKind::Number { whole, bounds } => {
                let what = if *whole { "whole number" } else { "number" };
                format!(
                    "{what}{}",
                    range(bounds.0.map(|it| it.to_string()), bounds.1.map(|it| it.to_string()))
                )
            }
            FieldKind::YesNo => "y or n".to_owned(),
            FieldKind::One(_) => "the number of one".to_owned(),
            FieldKind::Several { count, .. } => {
                format!("numbers with commas between{}", range(of(count.0), of(count.1)))
            }
        }
    }

    /// The choices, where it has any.
    pub fn choices(&self) -> &[Choice] {
        match self {
            FieldKind::One(of) | FieldKind::Several { of, .. } => of,
            _ => &[],
        }
    }

    fn understand(&self, typed: &str) -> Result<Value, String> {
        match self {
            FieldKind::Text { length, format } => understand_text(typed, *length, format.as_deref()),
            FieldKind::Number { whole, bounds } => understand_number(typed, *whole, *bounds),
            FieldKind::YesNo => match typed.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(json!(true)),
                "n" | "no" | "false" => Ok(json!(false)),
                _ => Err("type y or n".to_owned()),
            },
            FieldKind::One(of) => pick(of, typed).map(Value::from),
            FieldKind::Several { of, count } => {
                let mut picked: Vec<&str> = Vec::new();
                for one in typed.split(',').map(str::trim).filter(|it| !it.is_empty()) {
                    let value = pick(of, one)?;
                    if !picked.contains(&value) {
                        picked.push(value);
                    }
                }
                let many = picked.len() as u64;
                if count.0.is_some_and(|least| many < least) || count.1.is_some_and(|most| many > most) {
                    return Err(format!("you picked {many}; it takes {}", self.takes()));
                }
                Ok(json!(picked))
            }
        }
    }
}

/// A choice by its number, its value or its title.
fn pick<'c>(of: &'c [Choice], typed: &str) -> Result<&'c str, String> {
    let by_number = typed.parse::<usize>().ok().and_then(|number| of.get(number.checked_sub(1)?));
    let by_word = || of.iter().find(|it| it.value == typed || it.title.eq_ignore_ascii_case(typed));
    let picked = by_number.or_else(by_word).map(|it| it.value.as_str());
    picked.ok_or_else(|| format!("type a number from 1 to {}", of.len()))
}

fn understand_text(
    typed: &str,
    length: (Option<u64>, Option<u64>),
    format: Option<&str>,
) -> Result<Value, String> {
    let long = typed.chars().count() as u64;
    if length.0.is_some_and(|least| long < least) || length.1.is_some_and(|most| long > most) {
        let bound = |it: Option<u64>, none: &str| it.map_or_else(|| none.to_owned(), |it| it.to_string());
        return Err(format!(
            "it has {long} characters; it takes {} to {}",
            bound(length.0, "0"),
            bound(length.1, "any number")
        ));
    }
    let digits = |text: &str, many: usize| text.len() == many && text.bytes().all(|b| b.is_ascii_digit());
    let is_date = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        matches!(parts.as_slice(), [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
    };
    let fits = match format {
        Some("email") => typed.split_once('@').is_some_and(|(who, at)| !who.is_empty() && at.contains('.')),
        Some("uri") => {
            typed.split_once(':').is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty())
        }
        Some("date") => is_date(typed),
        Some("date-time") => {
            typed.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && time.len() >= 6)
        }
        _ => true,
    };
    if fits { Ok(json!(typed)) } else { Err(format!("that is no {}", format.unwrap_or("such text"))) }
}

fn understand_number(typed: &str, whole: bool, bounds: (Option<f64>, Option<f64>)) -> Result<Value, String> {
    let (number, value) = if whole {
        let number: i64 = typed.parse().map_err(|_| "type a whole number".to_owned())?;
        (number as f64, json!(number))
    } else {
        let number: f64 = typed.parse().map_err(|_| "type a number".to_owned())?;
        (number, Value::Number(Number::from_f64(number).ok_or("type a number")?))
    };
    if bounds.0.is_some_and(|least| number < least) || bounds.1.is_some_and(|most| number > most) {
        return Err("it is out of bounds".to_owned());
    }
    Ok(value)
}

/// The values of fields that have one, as the answer.
pub fn filled(values: Vec<(String, Option<Value>)>) -> Value {
    Value::Object(values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(property: Value) -> Field {
        let form = Form::read(&json!({"properties": {"f": property}})).unwrap();
        form.fields[0].clone()
    }

    // MCP-14
    #[test]
    fn the_five_shapes_of_choices() {
        for one in [
            json!({"type": "string", "enum": ["a", "b"]}),
            json!({"type": "string", "enum": ["a", "b"], "enumNames": ["Ant", "Bee"]}),
            json!({"type": "string", "oneOf": [{"const": "a", "title": "Ant"}, {"const": "b", "title": "Bee"}]}),
        ] {
            let it = field(one);
            assert_eq!(it.understand("2"), Ok(Some(json!("b"))));
            assert_eq!(it.understand("a"), Ok(Some(json!("a"))));
            assert!(
                it.understand("3").is_err() && it.understand("0").is_err() && it.understand("c").is_err()
            );
        }
        for several in [
            json!({"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["a", "b", "c"]}}),
            json!({"type": "array", "maxItems": 2, "items": {"anyOf": [{"const": "a"}, {"const": "b"}, {"const": "c"}]}}),
        ] {
            let it = field(several);
            assert_eq!(it.understand("1, c,1"), Ok(Some(json!(["a", "c"]))));
            assert!(it.understand("1,2,3").is_err());
        }
    }

    // MCP-14
    #[test]
    fn what_is_typed_must_fit() {
        let it = field(json!({"type": "integer", "minimum": 1, "maximum": 5, "default": 3}));
        assert_eq!(it.understand(""), Ok(Some(json!(3))));
        assert_eq!(it.understand(" 4 "), Ok(Some(json!(4))));
        assert!(it.understand("6").is_err() && it.understand("x").is_err() && it.understand("2.5").is_err());
        assert!(field(json!({"type": "number"})).understand("NaN").is_err());
        let it = field(json!({"type": "string", "minLength": 2, "format": "email"}));
        assert_eq!(it.understand(""), Ok(None));
        assert!(it.understand("x").is_err() && it.understand("x@y").is_err());
        assert_eq!(it.understand("é@b.c"), Ok(Some(json!("é@b.c"))));
        assert_eq!(field(json!({"type": "boolean"})).understand("Yes"), Ok(Some(json!(true))));
        assert!(field(json!({"type": "boolean"})).understand("maybe").is_err());
        assert!(field(json!({"type": "string", "format": "date"})).understand("2026-1-1").is_err());
    }

    #[test]
    fn a_form_of_other_things_is_none() {
        for odd in
            [json!({"type": "object"}), json!({}), json!({"type": "array", "items": {"type": "number"}})]
        {
            assert_eq!(Form::read(&json!({"properties": {"f": odd}})), None);
        }
        assert_eq!(Form::read(&json!([])), None);
        let huge: Map<String, Value> =
            (0..100).map(|i| (format!("f{i}"), json!({"type": "boolean"}))).collect();
        assert_eq!(Form::read(&json!({"properties": huge})), None);
    }
}
