// The agent's questions as one form (TOO-6): choices, and room for something else.

import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { alarm } from "../state/say";
import { plain } from "../text/words";
import { MarkIcon } from "../ui/icons";
import { scrolls } from "./dock";
import type { FormProps } from "./dock";

type Given = { selected: string[]; other: string; otherOn: boolean };

/** What is sent: one entry for each question, in order. */
export function answersOf(given: Given[]): { selected: string[]; other?: string }[] {
  return given.map((it) => ({ selected: it.selected, ...(it.otherOn && it.other.trim() ? { other: it.other.trim() } : {}) }));
}

/** Which questions lack an answer. */
export const missing = (given: Given[]): number[] =>
  given.flatMap((it, at) => (it.selected.length > 0 || (it.otherOn && it.other.trim()) ? [] : [at]));

/** All questions of one call. */
export function AskUserForm({ ask, off, answer, titleId }: FormProps<"askUser">): VNode {
  const [given, setGiven] = useState<Given[]>(() => ask.questions.map(() => ({ selected: [], other: "", otherOn: false })));
  const [wrong, setWrong] = useState<number[]>([]);
  const form = useRef<HTMLFormElement>(null);
  const set = (at: number, next: Given) => {
    setGiven(given.map((it, other) => (other === at ? next : it)));
    setWrong(wrong.filter((other) => other !== at));
  };
  const send = (event: Event) => {
    event.preventDefault();
    const lacks = missing(given);
    setWrong(lacks);
    if (lacks.length > 0) {
      alarm("A question has no answer yet");
      form.current?.querySelectorAll("fieldset")[lacks[0]!]?.querySelector("input")?.focus();
      return;
    }
    void answer({ answers: answersOf(given) });
  };
  return (
    <form ref={form} aria-labelledby={titleId} onSubmit={send} noValidate>
      <div class="ask-body" {...scrolls("Questions")}>
        {ask.message && <p dir="auto">{plain(ask.message)}</p>}
        {ask.questions.map((question, at) => {
          const it = given[at]!;
          const kind = question.multiSelect ? "checkbox" : "radio";
          const name = `${ask.id}-${at}`;
          const bad = wrong.includes(at);
          const pick = (label: string, on: boolean) => {
            if (!question.multiSelect) return set(at, { ...it, selected: [label], otherOn: false });
            set(at, { ...it, selected: on ? [...it.selected, label] : it.selected.filter((other) => other !== label) });
          };
          return (
            <fieldset key={name} aria-describedby={bad ? `${name}-e` : undefined}>
              <legend dir="auto">{plain(question.question)}{question.multiSelect && " Choose any."}</legend>
              {question.options.map((option) => (
                <label class="opt" key={option.label}>
                  <input
                    type={kind} name={name} checked={it.selected.includes(option.label)}
                    aria-invalid={bad || undefined} onChange={(event) => pick(option.label, event.currentTarget.checked)}
                  />
                  <bdi>{plain(option.label)}</bdi>
                  {option.description && <span dir="auto">{plain(option.description)}</span>}
                </label>
              ))}
              <div class="opt">
                <input
                  type={kind} name={name} id={`${name}-o`} checked={it.otherOn} aria-invalid={bad || undefined}
                  onChange={(event) => set(at, { ...it, otherOn: event.currentTarget.checked, selected: question.multiSelect ? it.selected : [] })}
                />
                <label for={`${name}-o`}>Something else</label>
                <span>
                  <input
                    class="text" aria-label={`Your own answer to: ${plain(question.question)}`} placeholder="Your own answer" value={it.other} maxLength={2000}
                    onInput={(event) => {
                      const other = event.currentTarget.value;
                      set(at, { other, otherOn: other !== "" || it.otherOn, selected: question.multiSelect || other === "" ? it.selected : [] });
                    }}
                  />
                </span>
              </div>
              {bad && <p class="error" id={`${name}-e`}><MarkIcon mark="failed" />Choose an answer, or write your own.</p>}
            </fieldset>
          );
        })}
      </div>
      <div class="acts ask-acts">
        <button type="submit" class="btn primary" disabled={off}>Send answers</button>
        <span class="sp" />
        <button type="button" class="btn quiet" disabled={off} onClick={() => void answer({ declined: true })}>Don’t answer</button>
      </div>
    </form>
  );
}
