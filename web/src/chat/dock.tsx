// What waits for a person, above the composer: approvals, questions of the agent, forms of servers (TOO-6, TOO-9).

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import type { Ask } from "../api/types";
import type { Conversation } from "../state/conversation";
import { say } from "../state/say";
import { askTitle, clockOf, oneLine, plain, timeOf } from "../text/words";
import { useNow } from "../ui/hooks";
import { Icon, MarkIcon } from "../ui/icons";
import { pretty } from "../ui/pieces";
import { AskUserForm } from "./ask-user";
import { ElicitForm } from "./elicit";

/** For how long a card's buttons are off after it appears, in milliseconds: a key in flight can't answer. */
export const GUARD_MS = 500;

/** The oldest open question; the others wait. */
export function Dock({ talk, agent }: { talk: Conversation; agent: string }): VNode | null {
  const list = talk.asks.value;
  const waiting = list.filter((ask) => ask.state === "open");
  const closed = useClosed(list);
  const first = waiting[0];
  if (!first && !closed) return null;
  return (
    <div class="dock" id="dock" tabIndex={-1}>
      {closed && !first && <p class="closed" role="status"><MarkIcon mark={closed.state === "answered" ? "done" : "later"} />{closedWords(closed)}</p>}
      {first && <Card key={first.id} ask={first} talk={talk} agent={agent} place={waiting.length > 1 ? `1 of ${waiting.length}` : ""} />}
    </div>
  );
}

/** A question that closed while it was on screen; told for a few seconds. */
function useClosed(list: Ask[]): Ask | null {
  const shown = useRef(new Set<string>());
  const [closed, setClosed] = useState<Ask | null>(null);
  useEffect(() => {
    for (const ask of list) {
      if (ask.state === "open") shown.current.add(ask.id);
      else if (shown.current.delete(ask.id)) {
        setClosed(ask);
        setTimeout(() => setClosed((was) => (was === ask ? null : was)), 6000);
      }
    }
  }, [list]);
  return closed;
}

function closedWords(ask: Ask): string {
  const at = ask.answeredAt ? ` at ${timeOf(ask.answeredAt)}` : "";
  if (ask.state === "expired") return "Nobody answered in time. It counts as no.";
  if (ask.state === "cancelled") return "The question was withdrawn.";
  return `Answered${at}.`;
}

function Card({ ask, talk, agent, place }: { ask: Ask; talk: Conversation; agent: string; place: string }): VNode {
  const id = useId();
  const [guarded, setGuarded] = useState(true);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setGuarded(false), GUARD_MS);
    return () => clearTimeout(timer);
  }, [ask.id]);
  const answer = async (body: unknown) => {
    setBusy(true);
    setFault(null);
    try {
      await talk.answer(ask.id, body);
      say("Answered");
    } catch (error) {
      const failed = error as ApiError;
      setFault(failed.code === "ask_closed" ? "This was answered elsewhere." : plain(failed.message));
      setBusy(false);
    }
  };
  const off = guarded || busy;
  const common = { ask, off, answer, titleId: id };
  return (
    <section class="ask" aria-labelledby={id} data-ask={ask.id}>
      <div class="ask-head">
        {ask.kind === "approval" || ask.kind === "askUser" ? <MarkIcon mark="waiting" /> : <Icon name="servers" small />}
        <h2 id={id} tabIndex={-1} data-ask-title><bdi>{askTitle(ask, agent)}</bdi></h2>
        {place && <span class="left">{place}</span>}
        <Left ask={ask} />
      </div>
      {ask.kind === "approval" && <Approval {...common} ask={ask} />}
      {ask.kind === "askUser" && <AskUserForm {...common} ask={ask} />}
      {ask.kind === "elicit" && <ElicitForm {...common} ask={ask} />}
      {fault && <p class="error in-ask" role="alert"><MarkIcon mark="failed" />{fault}</p>}
    </section>
  );
}

/** What a card's form is given. */
export type FormProps<K extends Ask["kind"]> = {
  ask: Ask & { kind: K };
  off: boolean;
  answer: (body: unknown) => Promise<void>;
  titleId: string;
};

/** The time left, said aloud at 60 and at 15 seconds only. */
function Left({ ask }: { ask: Ask }): VNode | null {
  const now = useNow(ask.expiresAt !== null);
  const left = ask.expiresAt === null ? null : Date.parse(ask.expiresAt) - now;
  const seconds = left === null ? null : Math.ceil(left / 1000);
  useEffect(() => {
    if (seconds === 60 || seconds === 15) say(`${seconds} seconds left to answer`);
  }, [seconds]);
  if (left === null) return null;
  const words = ask.kind === "approval" ? `Denied in ${clockOf(left)} if unanswered` : `${clockOf(left)} left`;
  return <span class="left num" aria-hidden="true">{words}</span>;
}

/** A body that may be longer than there is room for; the buttons below it always stay. */
export const scrolls = (label: string) => ({ tabIndex: 0, role: "region" as const, "aria-label": label });

const LONG = 6;

function Approval({ ask, off, answer, titleId }: FormProps<"approval">): VNode {
  const why = useId();
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState("");
  const described = `${titleId} ${why}`;
  return (
    <>
      <div class="ask-body" {...scrolls("What it would do")}>
        <Arguments value={ask.arguments} />
        <p class="why" id={why}>
          Rule <code>{oneLine(ask.rule)}</code> matched.{" "}
          {ask.always !== null && <>Always adds <code>{oneLine(ask.always)}</code>.</>}
        </p>
        {denying && (
          <label class="stack">
            Why not? The agent reads it.
            <input class="text" value={reason} maxLength={400} data-reason onInput={(event) => setReason(event.currentTarget.value)} ref={(it) => it?.focus()} />
          </label>
        )}
      </div>
      <div class="acts ask-acts">
        <button type="button" class="btn primary" aria-describedby={described} disabled={off} onClick={() => void answer({ decision: "once" })}>Allow once</button>
        {ask.always !== null && (
          <button type="button" class="btn" aria-describedby={described} disabled={off} onClick={() => void answer({ decision: "always" })}>Always allow</button>
        )}
        <span class="sp" />
        {!denying && <button type="button" class="btn quiet reason" disabled={off} onClick={() => setDenying(true)}>Deny with a reason</button>}
        <button
          type="button" class="btn" aria-describedby={described} disabled={off}
          onClick={() => void answer({ decision: "deny", ...(reason.trim() ? { reason: reason.trim() } : {}) })}
        >
          Deny
        </button>
      </div>
    </>
  );
}

/** The arguments that matter, as a list; long ones fold. */
function Arguments({ value }: { value: unknown }): VNode | null {
  const entries: [string, unknown][] =
    typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [["Arguments", value]];
  if (entries.length === 0) return <p class="why">It has no arguments.</p>;
  return (
    <dl class="kv">
      {entries.map(([key, it]) => (
        <>
          <dt class="cut" title={oneLine(key)}><bdi>{oneLine(key)}</bdi></dt>
          <dd><Folding text={plain(pretty(it))} /></dd>
        </>
      ))}
    </dl>
  );
}

function Folding({ text }: { text: string }): ComponentChildren {
  const [all, setAll] = useState(false);
  const lines = text.split("\n");
  const long = lines.length > LONG || text.length > 600;
  const shown = all || !long ? text : `${lines.slice(0, LONG).join("\n").slice(0, 600)}…`;
  return (
    <>
      <span class="value" dir="auto">{shown}</span>
      {long && !all && <button type="button" class="link" onClick={() => setAll(true)}>Show all</button>}
    </>
  );
}
