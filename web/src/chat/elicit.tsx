// What an MCP server asks for: a form after its schema, or a visit to a page (MCP-14).

import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { safeHref } from "../text/markdown";
import { oneLine, plain } from "../text/words";
import { MarkIcon } from "../ui/icons";
import { scrolls } from "./dock";
import type { FormProps } from "./dock";

/** One field of a server's form. */
export type Field = {
  name: string; title: string; about: string; required: boolean;
  kind: "text" | "number" | "yesNo" | "one" | "many";
  choices: { value: string; title: string }[];
  initial: unknown; type: "text" | "number" | "email" | "url" | "date" | "datetime-local"; minLength?: number; maxLength?: number; minimum?: number; maximum?: number; whole: boolean;
};

type Schema = Record<string, unknown>;
const asText = (value: unknown) => (typeof value === "string" ? value : "");

/** The fields of a schema; null where one of them can't be asked. */
export function fieldsOf(form: unknown): Field[] | null {
  const schema = (form ?? {}) as { properties?: Record<string, Schema>; required?: unknown };
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.entries(schema.properties ?? {}).map(([name, it]) => fieldOf(name, it, required.includes(name)));
  return fields.every((field) => field !== null) ? fields : null;
}

function fieldOf(name: string, it: Schema, required: boolean): Field | null {
  const field: Field = {
    name, required, title: oneLine(asText(it.title)) || oneLine(name), about: oneLine(asText(it.description)), kind: "text", choices: [],
    initial: it.default, type: "text", whole: it.type === "integer",
  };
  const items = (it.items ?? {}) as Schema;
  const choices = choicesOf(it);
  if (choices) return { ...field, kind: "one", choices };
  if (it.type === "array") {
    const many = choicesOf(items) ?? choicesOf({ oneOf: items.anyOf });
    return many ? { ...field, kind: "many", choices: many } : null;
  }
  if (it.type === "boolean") return { ...field, kind: "yesNo" };
  if (it.type === "number" || it.type === "integer") {
    return { ...field, kind: "number", type: "number", ...bounds(it, "minimum", "maximum") };
  }
  if (it.type !== "string") return null;
  const types: Record<string, Field["type"]> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };
  return { ...field, type: types[asText(it.format)] ?? "text", ...bounds(it, "minLength", "maxLength") };
}

function bounds(it: Schema, ...keys: string[]): object {
  return Object.fromEntries(keys.filter((key) => typeof it[key] === "number").map((key) => [key, it[key]]));
}

function choicesOf(it: Schema): Field["choices"] | null {
  if (Array.isArray(it.enum)) {
    const names = Array.isArray(it.enumNames) ? it.enumNames : [];
    return it.enum.map((value, at) => ({ value: String(value), title: oneLine(asText(names[at])) || oneLine(String(value)) }));
  }
  const options = it.oneOf as { const?: unknown; title?: unknown }[] | undefined;
  if (!Array.isArray(options) || !options.every((option) => option && "const" in option)) return null;
  return options.map((option) => ({ value: String(option.const), title: oneLine(asText(option.title)) || oneLine(String(option.const)) }));
}

/** What a filled form says; fields that were left empty are left out. */
export function contentOf(fields: Field[], data: FormData): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const field of fields) {
    const value = asText(data.get(field.name));
    if (field.kind === "yesNo") content[field.name] = data.get(field.name) !== null;
    else if (field.kind === "many") content[field.name] = data.getAll(field.name).map(String);
    else if (value === "") continue;
    else if (field.kind === "number") content[field.name] = Number(value);
    else if (field.type === "datetime-local") content[field.name] = new Date(value).toISOString();
    else content[field.name] = value;
  }
  return content;
}

/** The card's body. */
export function ElicitForm({ ask, off, answer, titleId }: FormProps<"elicit">): VNode {
  const fields = ask.form ? fieldsOf(ask.form) : [];
  const [wrong, setWrong] = useState<string | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const href = ask.visit ? safeHref(ask.visit) : null;
  const send = (event: Event) => {
    event.preventDefault();
    const bad = form.current!.querySelector<HTMLInputElement>(":invalid:not(fieldset)");
    if (bad) {
      setWrong(`${bad.dataset.title ?? "A field"}: ${bad.validationMessage}`);
      return bad.focus();
    }
    void answer({ action: "accept", ...(ask.form ? { content: contentOf(fields ?? [], new FormData(form.current!)) } : {}) });
  };
  const cant = fields === null || (ask.visit !== null && !href);
  return (
    <form ref={form} aria-labelledby={titleId} onSubmit={send} noValidate>
      <div class="ask-body" {...scrolls("Questions")}>
        <p dir="auto">{plain(ask.message)}</p>
        {href && (
          <p class="why">
            It leads to <b>{new URL(href).host}</b>. <a href={href} target="_blank" rel="noopener noreferrer">Open the page</a>, then come back and continue.
          </p>
        )}
        {cant && <p class="error"><MarkIcon mark="failed" />This question can’t be shown here. Decline it, or stop the turn.</p>}
        {(fields ?? []).map((field) => <FieldRow key={field.name} field={field} />)}
        {wrong && <p class="error" role="alert"><MarkIcon mark="failed" />{wrong}</p>}
        <p class="why">The answer goes to the server <code>{oneLine(ask.server)}</code>. Give it no password or key.</p>
      </div>
      <div class="acts ask-acts">
        {!cant && <button type="submit" class="btn primary" disabled={off}>{href ? "Continue" : "Send answers"}</button>}
        <span class="sp" />
        <button type="button" class="btn quiet" disabled={off} onClick={() => void answer({ action: "decline" })}>Don’t answer</button>
      </div>
    </form>
  );
}

function FieldRow({ field }: { field: Field }): VNode {
  const about = field.about && <span class="why">{field.about}</span>;
  const star = field.required ? " (needed)" : "";
  const common = { name: field.name, "data-title": field.title, required: field.required };
  if (field.kind === "yesNo") {
    return <label class="opt"><input type="checkbox" name={field.name} data-title={field.title} checked={field.initial === true} /><bdi>{field.title}</bdi>{about}</label>;
  }
  if (field.kind === "many") {
    return (
      <fieldset>
        <legend>{field.title}{star}</legend>
        {about}
        {field.choices.map((choice) => <label class="opt" key={choice.value}><input type="checkbox" name={field.name} value={choice.value} /><bdi>{choice.title}</bdi></label>)}
      </fieldset>
    );
  }
  if (field.kind === "one") {
    return (
      <label class="stack">
        {field.title}{star}
        <select class="text" {...common}>
          <option value="">Choose</option>
          {field.choices.map((choice) => <option key={choice.value} value={choice.value} selected={field.initial === choice.value}>{choice.title}</option>)}
        </select>
        {about}
      </label>
    );
  }
  return (
    <label class="stack">
      {field.title}{star}
      <input
        class="text" {...common} {...limitsOf(field)} autocomplete="off"
        defaultValue={field.initial === undefined ? "" : String(field.initial)}
      />
      {about}
    </label>
  );
}

/** What the browser itself checks. */
function limitsOf(field: Field): object {
  return {
    type: field.type, minLength: field.minLength, maxLength: field.maxLength, min: field.minimum, max: field.maximum,
    step: field.kind === "number" ? (field.whole ? 1 : "any") : undefined,
  };
}
