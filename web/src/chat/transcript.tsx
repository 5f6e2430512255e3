// The messages, oldest first. The view follows what comes only while it is at the end.

import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { address, path } from "../api/client";
import type { Answer, Message, User } from "../api/types";
import type { Conversation } from "../state/conversation";
import { route } from "../state/router";
import { daysAgo, dayHeading, failureWords, fullTime, oneLine, plain, size, timeOf } from "../text/words";
import { Icon } from "../ui/icons";
import { memo } from "../ui/memo";
import { room } from "../ui/media";
import { Banner, Bones, Copy } from "../ui/pieces";
import { Activity } from "./activity";
import { AnswerText } from "./answer";
import { Parts } from "./parts";

/** How near the end the view must be to follow, in pixels. */
export const NEAR_END = 48;

type Replies = { live: boolean; chosen: string | null; choose: (label: string) => void };

/** Which quick reply of an answer was chosen, and whether they can still be. */
export function repliesOf(messages: Message[], at: number): { live: boolean; chosen: string | null } {
  const answer = messages[at] as Answer;
  const labels = answer.parts.flatMap((part) => (part.type === "reply_options" ? part.options : []));
  const next = messages.slice(at + 1).find((message): message is User => message.role === "user");
  const running = messages.some((message) => message.role === "assistant" && (message.status === "running" || message.status === "waiting"));
  return { live: !next && !running, chosen: next && labels.includes(next.text) ? next.text : null };
}

/** The pane of messages. */
export function Transcript({ talk, agent, reply }: { talk: Conversation; agent: string; reply: (label: string) => void }): VNode {
  const messages = talk.messages.value;
  const pane = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const follows = useRef(true);
  const kept = useRef<{ first: string; height: number } | null>(null);
  const phone = room.value === "phone";
  const scroller = () => (phone ? document.scrollingElement : pane.current);
  const toEnd = () => {
    const it = scroller();
    if (it) it.scrollTop = it.scrollHeight;
  };

  useEffect(() => {
    const target: EventTarget = phone ? document : pane.current!;
    const moved = () => {
      const it = scroller();
      if (!it) return;
      const near = it.scrollHeight - it.scrollTop - it.clientHeight < NEAR_END;
      follows.current = near;
      setAtEnd(near);
      positions.set(talk.id, near ? null : it.scrollTop);
      if (it.scrollTop < 400 && talk.olderCursor.peek()) {
        kept.current = { first: talk.messages.peek()[0]?.id ?? "", height: it.scrollHeight };
        void talk.loadOlder().catch(() => {});
      }
    };
    target.addEventListener("scroll", moved, { passive: true });
    return () => target.removeEventListener("scroll", moved);
  }, [talk, phone]);

  // Where it was left, or at the end; older messages above push nothing away.
  const ready = messages.length > 0;
  useLayoutEffect(() => {
    if (!ready) return;
    const wanted = route.peek().query.get("at");
    const found = wanted && document.getElementById(`m-${wanted}`);
    const left = positions.get(talk.id);
    if (found) found.scrollIntoView({ block: "start" });
    else if (left != null) scroller()!.scrollTop = left;
    else toEnd();
  }, [talk, ready]);
  useLayoutEffect(() => {
    const before = kept.current;
    const it = scroller();
    if (it && before && messages[0]?.id !== before.first) {
      it.scrollTop += it.scrollHeight - before.height;
      kept.current = null;
    } else if (follows.current) {
      toEnd();
    }
  }, [messages]);
  useEffect(() => {
    // What grows without a message, such as an opened activity or the dock, keeps the end in view too.
    const seen = new ResizeObserver(() => follows.current && toEnd());
    if (pane.current) seen.observe(pane.current.firstElementChild ?? pane.current);
    if (pane.current) seen.observe(pane.current);
    return () => seen.disconnect();
  }, [talk, phone, ready]);

  const key = (event: KeyboardEvent) => {
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    step(pane.current!, event.key === "ArrowUp" ? -1 : 1);
  };
  return (
    <div class="scroll transcript" ref={pane} tabIndex={0} role="region" aria-label="Messages" onKeyDown={key} id="transcript">
      <ol class="flow">
        {talk.olderCursor.value && (
          <li class="older">
            <button type="button" class="btn quiet" disabled={talk.loadingOlder.value} onClick={() => void talk.loadOlder().catch(() => {})}>
              {talk.loadingOlder.value ? "Loading…" : "Earlier messages"}
            </button>
          </li>
        )}
        {talk.state.value === "loading" && messages.length === 0 && <li class="turn"><Bones label="Loading messages" rows={3} /></li>}
        {messages.map((message, at) => {
          const day = dayBreak(messages, at);
          return message.role === "user" ? (
            <>
              {day}
              <Said key={message.id} message={message} />
            </>
          ) : (
            <>
              {day}
              <Answered key={message.id} message={message} agent={agent} replies={{ ...repliesOf(messages, at), choose: reply }} />
            </>
          );
        })}
        {talk.sending.value && <li class="turn sending" aria-hidden="true"><p class="me">{plain(talk.sending.value.text)}</p></li>}
      </ol>
      {!atEnd && ready && (
        <button type="button" class="btn latest" onClick={toEnd}><Icon name="down" small />Latest</button>
      )}
    </div>
  );
}

/** Where each conversation was left; null = at its end. */
const positions = new Map<string, number | null>();

function step(pane: HTMLElement, by: number): void {
  const all = [...pane.querySelectorAll<HTMLElement>("li.turn")];
  const here = all.findIndex((it) => it === document.activeElement);
  const visible = all.findIndex((it) => it.getBoundingClientRect().bottom > 120);
  const next = all[Math.max(0, Math.min(all.length - 1, (here >= 0 ? here : visible) + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function dayBreak(messages: Message[], at: number): VNode | null {
  const message = messages[at]!;
  const before = messages[at - 1];
  const other = !before || daysAgo(new Date(before.createdAt), new Date(message.createdAt)) !== 0;
  if (!other || (at === 0 && daysAgo(new Date(message.createdAt)) === 0)) return null;
  return <li class="day" key={`day-${message.id}`}><span>{dayHeading(message.createdAt)}</span></li>;
}

const Said = memo(
  function Said({ message }: { message: User }): VNode {
    return (
      <li class="turn said" id={`m-${message.id}`} tabIndex={-1}>
        <div class="me" title={fullTime(message.createdAt)}>
          <span class="sr">You: </span>
          {message.quote && <blockquote dir="auto">{plain(message.quote.text)}</blockquote>}
          {message.attachments.map((it) => (
            <a key={it.id} class="attached" href={address(`${path("uploads", it.id)}`)} download={oneLine(it.name)}>
              <Icon name={it.mediaType.startsWith("image/") ? "image" : "file"} small />
              <span class="cut"><bdi>{oneLine(it.name)}</bdi></span><span class="meta">{size(it.sizeBytes)}</span>
            </a>
          ))}
          {message.text && <div class="words" dir="auto">{plain(message.text)}</div>}
        </div>
        <p class="stamp">
          {message.steered && <span>Added while it worked · </span>}
          <time dateTime={message.createdAt}>{timeOf(message.createdAt)}</time>
        </p>
      </li>
    );
  },
  (a, b) => a.message === b.message,
);

const Answered = memo(
  function Answered({ message, agent, replies }: { message: Answer; agent: string; replies: Replies }): VNode {
    const running = message.status === "running" || message.status === "waiting";
    const other = message.model && message.chosenModel && message.model !== message.chosenModel;
    return (
      <li class="turn" id={`m-${message.id}`} tabIndex={-1}>
        <h2 class="sr">{agent}: </h2>
        <Activity answer={message} agent={agent} />
        <AnswerText text={message.text} growing={running && message.status === "running"} />
        {!running && <Ended message={message} agent={agent} />}
        <Parts answer={message} agent={agent} replies={replies} />
        {!running && (
          <div class="under">
            {message.notices.map((line) => <p class="why" key={line}>{plain(line)}</p>)}
            {other && <p class="why">Answered by <code>{oneLine(message.model!)}</code> instead of <code>{oneLine(message.chosenModel!)}</code>.</p>}
            {message.text && <Copy text={() => message.text} label="Copy" class="btn quiet tiny" />}
          </div>
        )}
      </li>
    );
  },
  (a, b) => a.message === b.message && a.agent === b.agent && a.replies.live === b.replies.live && a.replies.chosen === b.replies.chosen,
);

/** How a turn ended, where it didn't end as asked. */
function Ended({ message, agent }: { message: Answer; agent: string }): VNode | null {
  switch (message.status) {
    case "failed":
      return (
        <Banner tone="bad">
          <b>{failureWords(message.failureKind)}.</b> {message.error ? plain(message.error) : ""}{message.partial && message.text ? " The answer above broke off." : ""}
        </Banner>
      );
    case "interrupted":
      return <Banner tone="doubt"><b>Interrupted.</b> The host stopped during this turn. Nothing was run again.</Banner>;
    case "cancelled":
      return <Banner tone="plain" mark="later">Stopped.{message.text ? ` This is what ${agent} had written so far.` : ""}</Banner>;
    default:
      return message.text || message.parts.length > 0 ? null : <Banner tone="plain" mark="later">{agent} ended without an answer.</Banner>;
  }
}
