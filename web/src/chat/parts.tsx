// What follows an answer: failures, files, quick replies, a proposal to restart (REP, QUI, RES).

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { address, ApiError, bytes, change, path } from "../api/client";
import type { Answer, Part, PartStatus } from "../api/types";
import { count, dayOf, oneLine, plain, size, timeOf } from "../text/words";
import { Icon, MarkIcon } from "../ui/icons";
import { Banner } from "../ui/pieces";

type File = Part & { type: "attachment" };
type Replies = Part & { type: "reply_options" };
type Proposal = Part & { type: "restart_proposal" };

/** The parts of an answer, in their order. */
export function Parts(props: { answer: Answer; agent: string; replies: { live: boolean; chosen: string | null; choose: (label: string) => void } }): VNode | null {
  const { answer, agent, replies } = props;
  const of = <T extends Part["type"]>(type: T) => answer.parts.filter((part) => part.type === type) as (Part & { type: T })[];
  if (answer.parts.length === 0) return null;
  return (
    <div class="parts">
      {of("failure").map((part) => <Banner key={part.id} tone="bad">{part.name && <b><bdi>{oneLine(part.name)}</bdi> </b>}{failureOf(part)}</Banner>)}
      {of("attachment").map((part) => <FileCard key={part.id} part={part} answer={answer} />)}
      {of("reply_options").map((part) => <QuickReplies key={part.id} part={part} {...replies} />)}
      {of("restart_proposal").map((part) => <RestartCard key={part.id} part={part} answer={answer} agent={agent} />)}
    </div>
  );
}

const LOST: Record<string, string> = {
  artifact_too_large: "is larger than the limit and was not attached.",
  artifact_publish_failed: "could not be attached.",
  artifact_missing: "is no longer there.",
  artifact_expired: "was kept for its time and is gone.",
  artifact_integrity_failed: "was changed since it was published, so it is not given out.",
  reply_part_too_large: "is one too many for this answer, so it was not attached.",
};

/** What became of a part, in words that go on from its name where it has one. */
export function failureOf(part: { name?: string; code: string; message: string }): string {
  const words = LOST[part.code];
  return part.name && words ? words : plain(part.message);
}

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const KINDS: Record<string, string> = {
  "text/csv": "CSV", "text/plain": "Text", "text/markdown": "Markdown", "application/pdf": "PDF", "application/json": "JSON",
  "application/zip": "ZIP", "text/html": "HTML", "image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP",
  "image/svg+xml": "SVG",
};

/** What kind of file it is, in short. */
export const kindOf = (mediaType: string) => KINDS[mediaType] ?? oneLine(mediaType.split("/").pop() ?? "").slice(0, 20).toUpperCase();

/** A long name, cut in the middle so that its end stays. */
export function middleCut(name: string, most = 48): string {
  const all = [...name];
  if (all.length <= most) return name;
  const tail = Math.min(16, Math.floor(most / 3));
  return `${all.slice(0, most - tail - 1).join("")}…${all.slice(-tail).join("")}`;
}

const GONE: Record<string, string> = {
  artifact_expired: "This file was kept for its time and is gone.",
  artifact_missing: "This file is no longer there.",
  artifact_integrity_failed: "This file was changed since it was published, so it is not given out.",
};
const GONE_STATES: Record<string, string> = { expired: "artifact_expired", missing: "artifact_missing", damaged: "artifact_integrity_failed" };

function FileCard({ part, answer }: { part: File; answer: Answer }): VNode {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const status: PartStatus | undefined = answer.partStatus[part.id];
  const name = oneLine(part.name);
  const kind = kindOf(part.mediaType);
  const where = path("threads", answer.threadId, "messages", answer.id, "files", part.id);
  const code = status ? GONE_STATES[status.state] : undefined;
  const gone = fault ?? (code ? GONE[code]! : null);
  const picture = PICTURES.includes(part.mediaType) && !gone;
  const download = async (event: MouseEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      save(await bytes(where), name);
    } catch (error) {
      const failed = error as ApiError;
      setFault(GONE[failed.code] ?? plain(failed.message));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class={picture ? "file-card picture" : "file-card"}>
      {picture && <img class="preview" src={`${address(where)}?inline=1`} alt={`Picture: ${name}`} loading="lazy" decoding="async" />}
      <div class="file">
        <span class="ft"><Icon name={part.mediaType.startsWith("image/") ? "image" : "file"} /></span>
        <div class="cut">
          <div class="n cut" title={name}><bdi>{middleCut(name)}</bdi></div>
          <div class="d">{kind} · {size(part.sizeBytes)}{part.expiresAt && !gone && ` · kept until ${dayOf(part.expiresAt)}`}</div>
        </div>
        {!gone && (
          <a class="btn" href={address(where)} download={name} aria-label={`Download ${name}, ${kind}, ${size(part.sizeBytes)}`} aria-busy={busy} onClick={(event) => void download(event)}>
            {busy ? <span class="running"><MarkIcon mark="running" /></span> : <Icon name="save" small />}
            <span class="not-phone">{busy ? "Working" : "Download"}</span>
          </a>
        )}
      </div>
      {gone && <Banner tone="warn">{gone}</Banner>}
    </div>
  );
}

/** Hands bytes to the browser as a file. */
function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

function QuickReplies({ part, live, chosen, choose }: { part: Replies; live: boolean; chosen: string | null; choose: (label: string) => void }): VNode {
  const [picked, setPicked] = useState<string | null>(null);
  useEffect(() => {
    if (live) setPicked(null);
  }, [live]);
  const taken = chosen ?? picked;
  return (
    <div class="quick" role="group" aria-label="Suggested replies">
      {part.options.map((label) => (
        <button
          key={label} type="button" class={taken === label ? "btn picked" : "btn"} disabled={!live || taken !== null}
          aria-label={taken === label ? `${plain(label)}, chosen` : undefined}
          onClick={() => {
            setPicked(label);
            choose(label);
          }}
        >
          {taken === label && <Icon name="send" small />}
          <bdi>{plain(label)}</bdi>
        </button>
      ))}
    </div>
  );
}

function RestartCard({ part, answer, agent }: { part: Proposal; answer: Answer; agent: string }): VNode | null {
  const [dismissed, setDismissed] = useState(false);
  const [asked, setAsked] = useState<"no" | "busy" | "sent">("no");
  const [fault, setFault] = useState<string | null>(null);
  const status = answer.partStatus[part.id];
  if (!status) return null;
  const reason = part.reason && <p dir="auto">“{plain(part.reason)}”</p>;
  if (status.state !== "ready" || asked === "sent" || dismissed) {
    const lines: Record<string, string> = {
      used: `Restarted${status.at ? ` at ${timeOf(status.at)}` : ""}. This proposal is used.`,
      old: `${agent} was restarted since. This proposal is old.`,
      offline: `${agent} is offline, so it can't be restarted from here.`,
      unsupported: `${agent} does not run under a supervisor, so it can't be restarted from here.`,
    };
    const line = asked === "sent" && status.state === "ready" ? `${agent} restarts now.` : dismissed && status.state === "ready" ? "Not restarted." : (lines[status.state] ?? "This proposal can't be used.");
    return (
      <Banner tone="plain" mark={status.state === "used" || asked === "sent" ? "done" : "later"}>
        {part.reason && <><q><bdi>{plain(part.reason)}</bdi></q> </>}{line}
      </Banner>
    );
  }
  const confirm = async () => {
    setAsked("busy");
    try {
      await change("POST", path("threads", answer.threadId, "messages", answer.id, "restart"), { partId: part.id });
      setAsked("sent");
    } catch (error) {
      setAsked("no");
      setFault(plain((error as ApiError).message));
    }
  };
  const stops = status.running ?? 0;
  const id = `restart-${part.id}`;
  return (
    <section class="ask" aria-labelledby={id}>
      <div class="ask-head"><Icon name="restart" small /><h3 class="h-ask" id={id}>Restart {agent}?</h3></div>
      <div class="ask-body">
        {reason}
        <p class="why">{stops > 0 ? `Stops ${count(stops, "running turn")}. ${stops === 1 ? "It is" : "They are"} marked interrupted and ${stops === 1 ? "is" : "are"} not run again.` : "No turn runs now, so nothing is interrupted."}</p>
        {fault && <p class="error" role="alert"><MarkIcon mark="failed" />{fault}</p>}
        <div class="acts">
          <button type="button" class="btn primary" disabled={asked === "busy"} onClick={() => void confirm()}>Restart {agent}</button>
          <button type="button" class="btn quiet" onClick={() => setDismissed(true)}>Not now</button>
        </div>
      </div>
    </section>
  );
}
