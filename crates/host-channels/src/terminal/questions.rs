//! Questions of the agent on the terminal, one after the other (TOO-6).

use super::lines::{LineRead, Lines};
use host_ports::ask::{Question, Questionnaire, QuestionsAnswer, Reply};
use host_vocab::text;

/// Asks them all within the time that there is. What was answered by then counts.
pub(super) async fn ask(lines: &Lines, asked: &Questionnaire) -> QuestionsAnswer {
    let mut replies: Vec<Option<Reply>> = Vec::new();
    let asking = async {
        if let Some(message) = &asked.message {
            eprintln!(
                "\nThe agent asks:\n  {}",
                text::printable(message.for_renderer()).replace('\n', "\n  ")
            );
        }
        eprintln!(
            "(a number, several with commas where that is said, or your own words; nothing = no answer; /no = none of them)"
        );
        for question in &asked.questions {
            eprint!("{}", shown(question));
            match lines.read("> ").await {
                LineRead::Line(line) if matches!(line.trim(), "/no" | "/decline") => return false,
                LineRead::Line(line) => replies.push(understood(question, &line)),
                LineRead::Interrupted | LineRead::End => return false,
            }
        }
        true
    };
    let answered = match asked.wait {
        Some(wait) => tokio::time::timeout(wait, asking).await.ok(),
        None => Some(asking.await),
    };
    replies.resize(asked.questions.len(), None);
    match answered {
        Some(true) => QuestionsAnswer::Answered(replies),
        Some(false) => QuestionsAnswer::Declined,
        None => {
            eprintln!("\n(no answer in time)");
            QuestionsAnswer::TimedOut(replies)
        }
    }
}

fn shown(question: &Question) -> String {
    let several = if question.multi_select { " (several may be chosen)" } else { "" };
    let mut out = format!("\n{}: {}{several}\n", line(&question.header), line(&question.question));
    for (n, option) in question.options.iter().enumerate() {
        out += &format!("  {}. {}: {}\n", n + 1, line(&option.label), line(&option.description));
    }
    out
}

fn line(text: &str) -> String {
    text::one_line(text, 2_000)
}

/// A line as an answer: numbers of options, or words of the person's own.
fn understood(question: &Question, line: &str) -> Option<Reply> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let label = |word: &str| {
        let at = word.trim().parse::<usize>().ok()?.checked_sub(1)?;
        question.options.get(at).map(|option| option.label.clone())
    };
    let chosen: Option<Vec<String>> = line.split(',').map(label).collect();
    match chosen {
        Some(selected) if question.multi_select || selected.len() == 1 => {
            Some(Reply { selected, other: None })
        }
        _ => Some(Reply { selected: Vec::new(), other: Some(line.to_owned()) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ports::ask::Choice;

    // TOO-6
    #[test]
    fn numbers_choose_and_words_stand_as_they_are() {
        let option = |label: &str| Choice { label: label.into(), description: "d".into() };
        let mut question = Question {
            header: "h".into(),
            question: "q".into(),
            options: vec![option("CSV"), option("PDF")],
            multi_select: false,
        };
        let chosen = |reply: Option<Reply>| reply.unwrap().selected;
        assert_eq!(chosen(understood(&question, " 2 ")), ["PDF"]);
        assert_eq!(understood(&question, "1,2").unwrap().other.as_deref(), Some("1,2"));
        assert_eq!(understood(&question, "3").unwrap().other.as_deref(), Some("3"));
        assert_eq!(understood(&question, "  "), None);
        question.multi_select = true;
        assert_eq!(chosen(understood(&question, "1, 2")), ["CSV", "PDF"]);
    }
}
