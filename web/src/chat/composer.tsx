// Where one writes: text, files, the model, Stop and Send. What could not be sent comes back.

import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { connection } from "../api/feed";
import type { Agent, FollowUp, Thread } from "../api/types";
import type { Conversation } from "../state/conversation";
import { draftOf, keepDraft } from "../state/device";
import { alarm, say } from "../state/say";
import { limits, patchThread, settings } from "../state/store";
import { oneLine, plain, size } from "../text/words";
import { Icon, MarkIcon } from "../ui/icons";
import { room } from "../ui/media";
import { hint } from "../ui/keys";
import { Menu } from "../ui/overlay";
import { Uploads } from "./uploads";
import type { Chip } from "./uploads";

/** What the composer needs to know of its conversation. */
export type ComposerProps = {
  agent: Agent;
  /** Names the draft. */
  draftKey: string;
  talk: Conversation | null;
  row: Thread | null;
  running: boolean;
  /** Sends; rejects where it could not. */
  send: (text: string, files: Uploads) => Promise<void>;
  /** The model for a conversation that isn't there yet. */
  fresh?: { model: string | null; setModel: (model: string | null) => void };
};

/** Files that were dropped somewhere on the pane. */
export const dropped = new EventTarget();

/** The composer. */
export function Composer({ agent, draftKey, talk, row, running, send, fresh }: ComposerProps): VNode {
  const [text, setText] = useState(() => draftOf(draftKey));
  const [fault, setFault] = useState<string[]>([]);
  const [busy, setBusy] = useState(false);
  const [stopping, setStopping] = useState(false);
  const uploads = useMemo(() => new Uploads(), [draftKey]);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const most = running ? limits.value.followUpChars : limits.value.textChars;
  const length = [...text].length;
  const chips = uploads.chips.value;
  const away = connection.value === "lost" || connection.value === "offline" || agent.state === "offline";
  const can = !busy && !away && length <= most && !uploads.busy && (text.trim() !== "" || (!running && uploads.taken().length > 0));

  useEffect(() => setText(draftOf(draftKey)), [draftKey]);
  useEffect(() => {
    const keep = () => keepDraft(draftKey, text);
    const timer = setTimeout(keep, 300);
    addEventListener("pagehide", keep);
    return () => {
      clearTimeout(timer);
      removeEventListener("pagehide", keep);
    };
  }, [draftKey, text]);
  useEffect(() => {
    if (!running) setStopping(false);
  }, [running]);
  useEffect(() => grow(field.current), [text]);

  const take = (files: Iterable<File>) => {
    if (running) return setFault(["Files can be attached when this turn ends."]);
    if (!agent.can.attach) return setFault([`${plain(agent.name)} does not take files.`]);
    setFault(uploads.add(files, limits.value));
  };
  useEffect(() => {
    const drop = (event: Event) => take((event as CustomEvent<File[]>).detail);
    dropped.addEventListener("files", drop);
    return () => dropped.removeEventListener("files", drop);
  });

  const submit = async () => {
    if (!can) return;
    const sent = text;
    setBusy(true);
    setFault([]);
    setText("");
    keepDraft(draftKey, "");
    try {
      await send(sent, uploads);
      uploads.clear();
      say("Sent");
    } catch (error) {
      const failed = error as ApiError;
      setText((now) => {
        const all = now ? `${sent}\n${now}` : sent;
        keepDraft(draftKey, all);
        return all;
      });
      const line = failed.code === "unreachable" ? "Not sent: the console does not answer. Your text is still here." : `Not sent: ${plain(failed.message)}`;
      setFault([line]);
      alarm(line);
    } finally {
      setBusy(false);
      field.current?.focus();
    }
  };

  const key = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.isComposing) return;
    const mod = event.ctrlKey || event.metaKey;
    const sends = settings.value.sendKey === "enter" ? !event.shiftKey && (room.value !== "phone" || mod) : mod;
    if (!sends) return;
    event.preventDefault();
    void submit();
  };
  const stop = async () => {
    setStopping(true);
    try {
      await talk!.stop();
    } catch (error) {
      setStopping(false);
      alarm(plain((error as ApiError).message));
    }
  };

  const fieldId = `msg-${draftKey}`;
  return (
    <form
      class="compose" id="composer" aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {talk?.followUps.value.filter((it) => it.state !== "applied" && it.state !== "cancelled").map((it) => <FollowUpRow key={it.id} it={it} talk={talk} />)}
      {fault.map((line) => <p class="error" key={line}><MarkIcon mark="failed" /><span>{line}</span></p>)}
      {away && <p class="why" id={`${fieldId}-a`}>{agent.state === "offline" ? `${plain(agent.name)} is offline. ` : ""}Will not be sent until you reconnect.</p>}
      {chips.length > 0 && <ul class="files" aria-label="Files to send">{chips.map((chip) => <FileChip key={chip.key} chip={chip} remove={() => uploads.remove(chip.key)} />)}</ul>}
      <div class="box">
        <label class="sr" for={fieldId}>Message to {plain(agent.name)}</label>
        <textarea
          ref={field} id={fieldId} rows={1} dir="auto" data-composer value={text}
          placeholder={running ? (agent.can.steer ? "Add to this turn" : "Write the next message") : `Message ${plain(agent.name)}`}
          aria-describedby={away ? `${fieldId}-a` : undefined}
          onInput={(event) => setText(event.currentTarget.value)} onKeyDown={key}
          onPaste={(event) => {
            const files = [...(event.clipboardData?.files ?? [])];
            if (files.length === 0) return;
            event.preventDefault();
            take(files);
          }}
        />
        <div class="tools">
          <input ref={picker} type="file" multiple hidden onChange={(event) => { take([...(event.currentTarget.files ?? [])]); event.currentTarget.value = ""; }} />
          <button
            type="button" class="btn icon quiet" disabled={running || !agent.can.attach}
            aria-label={running ? "Attach files. Available when this turn ends" : "Attach files"} onClick={() => picker.current?.click()}
          >
            <Icon name="clip" />
          </button>
          <ModelPicker agent={agent} row={row} fresh={fresh} />
          <span class="sp" />
          {length > most * 0.9 && <span class={length > most ? "counter over" : "counter"} role="status">{length.toLocaleString()} of {most.toLocaleString()}</span>}
          <span class="keys" aria-hidden="true">
            {running && hint.value ? (
              <b>Esc again stops the turn</b>
            ) : (
              <><kbd>{settings.value.sendKey === "enter" ? "Enter" : "Ctrl Enter"}</kbd> send{running && <> <kbd>Esc</kbd> twice to stop</>}</>
            )}
          </span>
          {running && (
            <button type="button" class="btn stop" disabled={stopping} onClick={() => void stop()} data-stop>
              <Icon name="stop" small />
              <span class={room.value === "phone" ? "sr" : undefined}>{stopping ? "Stopping…" : "Stop"}</span>
            </button>
          )}
          <button type="submit" class="btn primary icon send" aria-label={running ? "Add to this turn" : "Send"} disabled={!can}><Icon name="send" /></button>
        </div>
      </div>
    </form>
  );
}

/** The field's height follows its text where the browser can't do that by itself. */
function grow(it: HTMLTextAreaElement | null): void {
  if (!it || CSS.supports("field-sizing", "content")) return;
  it.style.setProperty("height", "auto");
  it.style.setProperty("height", `${Math.min(it.scrollHeight, innerHeight * 0.4)}px`);
}

function ModelPicker({ agent, row, fresh }: { agent: Agent; row: Thread | null; fresh?: ComposerProps["fresh"] }): VNode | null {
  const chosen = row?.model ?? fresh?.model ?? null;
  const shown = oneLine(chosen ?? agent.model);
  const short = shown.split(":").slice(1).join(":") || shown;
  const models = agent.models ?? [];
  if (models.length < 2) return <span class="model-name cut" title={shown}><bdi>{short}</bdi></span>;
  const set = (model: string | null) => {
    if (row) void patchThread(row.id, { model }).catch((error: ApiError) => alarm(plain(error.message)));
    else fresh?.setModel(model);
  };
  const items = models.map((it) => ({
    label: oneLine(it.ref), checked: it.ref === (chosen ?? agent.model), act: () => set(it.ref === agent.model ? null : it.ref),
  }));
  return <Menu label={`Model: ${shown}. Choose another`} items={items} class="btn quiet model" choice><span class="cut"><bdi>{short}</bdi></span><Icon name="down" small /></Menu>;
}

function FileChip({ chip, remove }: { chip: Chip; remove: () => void }): VNode {
  const state = chip.error ?? (chip.upload ? size(chip.sizeBytes) : `${Math.round(chip.done * 100)} %`);
  return (
    <li class={chip.error ? "file-chip bad" : "file-chip"}>
      <Icon name="file" small />
      <span class="cut"><bdi>{chip.name}</bdi></span>
      <span class="num meta">{state}</span>
      <button type="button" class="btn icon quiet" aria-label={`Remove ${chip.name}`} onClick={remove}><Icon name="close" small /></button>
    </li>
  );
}

const FOLLOW_WORDS: Record<FollowUp["state"], string> = {
  pending: "read at the next step", applied: "read", queued: "queued for the next turn", cancelled: "taken back",
  uncertain: "may have been delivered; it is never sent again",
};

function FollowUpRow({ it, talk }: { it: FollowUp; talk: Conversation }): VNode {
  const unsure = it.state === "uncertain";
  return (
    <div class="follow">
      <span class={unsure ? "unknown" : "done"}><MarkIcon mark={unsure ? "unknown" : "later"} /></span>
      <span class="cut"><bdi>“{oneLine(it.text)}”</bdi></span>
      <span class={unsure ? "follow-state unknown" : "follow-state"}>· {FOLLOW_WORDS[it.state]}</span>
      {(it.state === "pending" || it.state === "queued") && (
        <button
          type="button" class="btn quiet" aria-label={`Cancel: ${oneLine(it.text)}`}
          onClick={() => void talk.cancelFollowUp(it.id).catch((error: ApiError) => alarm(plain(error.message)))}
        >
          Cancel
        </button>
      )}
    </div>
  );
}
