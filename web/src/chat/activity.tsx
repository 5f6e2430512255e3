// What the agent did on the way to its answer: folded to one line, a ledger when open, each call with its decision.

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, path } from "../api/client";
import type { Answer, Step, WholeCall } from "../api/types";
import { allowedBy, argumentLine, clockOf, count, exception, fullTime, markOf, oneLine, plain, size, timeOf, took, toolName, WORDS } from "../text/words";
import type { Mark } from "../text/words";
import { useLoad, useNow } from "../ui/hooks";
import { Badge, Icon, Marked, MarkIcon } from "../ui/icons";
import { Block, cutNote, Failed, pretty } from "../ui/pieces";

type Call = Step & { kind: "call" };
type Row = { kind: "step"; step: Step } | { kind: "calls"; calls: Call[] };

/** Neighbouring calls of one tool as one row; what differs from done stays on its own. */
export function rowsOf(steps: Step[]): Row[] {
  const rows: Row[] = [];
  for (const step of steps) {
    const last = rows.at(-1);
    const head = last?.kind === "calls" ? last.calls[0]! : null;
    const folds = step.kind === "call" && head && head.tool === step.tool && head.server === step.server && step.state === "done" && head.state === "done";
    if (folds) (last as Row & { kind: "calls" }).calls.push(step);
    else rows.push(step.kind === "call" ? { kind: "calls", calls: [step] } : { kind: "step", step });
  }
  return rows;
}

/** How often each way of ending other than done happened. */
export function exceptionsOf(steps: Step[]): [Mark, number][] {
  const marks = ["refused", "failed", "unknown"] as const;
  const of = (mark: string) => steps.filter((step) => step.kind === "call" && step.state === mark).length;
  return marks.map((mark): [Mark, number] => [mark, of(mark)]).filter(([, n]) => n > 0);
}

/** How many rows are drawn at once; the rest on demand. */
const ROWS_MAX = 200;

/** The line above an answer, with everything that led to it. */
export function Activity({ answer, agent }: { answer: Answer; agent: string }): VNode {
  const running = answer.status === "running" || answer.status === "waiting";
  const [opened, setOpened] = useState<boolean | null>(null);
  const [all, setAll] = useState(false);
  useEffect(() => setOpened(null), [running]);
  const now = useNow(running);
  const steps = answer.activity;
  const calls = steps.filter((step) => step.kind === "call").length;
  const shown = opened ?? running;
  const rows = shown ? rowsOf(steps) : [];
  const by = (
    <span class="by">
      <b><bdi>{agent}</bdi></b>
      <time dateTime={answer.createdAt} title={fullTime(answer.createdAt)}>{timeOf(answer.createdAt)}</time>
    </span>
  );
  const elapsed = now - Date.parse(answer.createdAt);
  if (steps.length === 0) {
    return (
      <div class="act">
        <div class="act-line">
          {by}
          {running && <><span class="running"><MarkIcon mark="running" /></span><span class="sum"><b>Working</b> · <span class="num">{clockOf(elapsed)}</span></span></>}
        </div>
      </div>
    );
  }
  const waiting = answer.status === "waiting";
  return (
    <details class="act" open={shown} data-activity onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>
        {by}
        {running ? (
          <>
            <span class={waiting ? "waiting" : "running"}><MarkIcon mark={waiting ? "waiting" : "running"} /></span>
            <span class="sum"><b>{waiting ? "Waiting for you" : "Working"}</b> · step {steps.length} · <span class="num">{clockOf(elapsed)}</span></span>
          </>
        ) : (
          <>
            <Icon name="chev" small />
            <span class="sum"><b>{count(calls || steps.length, "step")}</b>{answer.durationMs !== undefined && ` · ${took(answer.durationMs)}`}</span>
          </>
        )}
        {exceptionsOf(steps).map(([mark, n]) => <Badge key={mark} mark={mark} word={`${n} ${WORDS[mark].toLowerCase()}`} />)}
      </summary>
      {shown && (
        <ol class="ledger">
          {(all ? rows : rows.slice(-ROWS_MAX)).map((row) =>
            row.kind === "calls" && row.calls.length > 1 ? (
              <Folded key={row.calls[0]!.id} calls={row.calls} answer={answer} />
            ) : (
              <StepRow key={stepOf(row).id} step={stepOf(row)} answer={answer} />
            ),
          )}
          {!all && rows.length > ROWS_MAX && (
            <li><button type="button" class="btn quiet" onClick={() => setAll(true)}>Show all {rows.length} rows</button></li>
          )}
        </ol>
      )}
    </details>
  );
}

const stepOf = (row: Row): Step => (row.kind === "calls" ? row.calls[0]! : row.step);

function StepRow({ step, answer }: { step: Step; answer: Answer }): VNode | null {
  switch (step.kind) {
    case "call":
      return <li><CallRow call={step} answer={answer} /></li>;
    case "text":
      return <li class="note-row" dir="auto">{plain(step.text)}</li>;
    case "reasoning":
      return (
        <li>
          <details class="call think">
            <summary>
              <span class="done"><MarkIcon mark="model" /></span>
              <span class="name">Thinking</span>
              <span class="arg cut" dir="auto">{oneLine(step.text).slice(0, 160)}</span>
              <span class="end" /><span class="dur" /><Icon name="chev" small />
            </summary>
            <div class="call-body"><p class="thought" dir="auto">{plain(step.text)}</p></div>
          </details>
        </li>
      );
    case "note":
      return (
        <li class="note-row with-mark">
          <Marked mark={step.tone === "plain" ? "later" : step.tone} word={step.tone === "plain" ? "Note" : WORDS[step.tone]} />
          <span dir="auto">{plain(step.text)}</span>
        </li>
      );
    case "compaction":
      return (
        <li class="note-row with-mark">
          <Marked mark={step.state === "done" ? "done" : "failed"} />
          <span>
            {step.state === "done" ? "Earlier messages were shortened for the model" : "Shortening earlier messages did not work"}
            {step.state === "done" && `: about ${step.tokensBefore.toLocaleString()} to ${step.tokensAfter.toLocaleString()} tokens`}
          </span>
        </li>
      );
    default:
      return null;
  }
}

function Folded({ calls, answer }: { calls: Call[]; answer: Answer }): VNode {
  const { server, name } = toolName(calls[0]!.tool, calls[0]!.server);
  const known = calls.map((call) => call.durationMs).filter((ms): ms is number => ms !== undefined);
  return (
    <li>
      <details class="call many">
        <summary>
          <span class="mkw done"><MarkIcon mark="done" /></span>
          <span class="name">{server && <i>{oneLine(server)} · </i>}{oneLine(name)}</span>
          <span class="arg cut">{count(calls.length, "call")}</span>
          <span class="end"><span class="sr">Done</span><span class="who">{allowedBy(calls[0]!)}</span></span>
          <span class="dur num">{known.length > 0 ? took(known.reduce((sum, ms) => sum + ms, 0)) : ""}</span>
          <Icon name="chev" small />
        </summary>
        <ol class="nested">{calls.map((call) => <li key={call.id}><CallRow call={call} answer={answer} /></li>)}</ol>
      </details>
    </li>
  );
}

function CallRow({ call, answer }: { call: Call; answer: Answer }): VNode {
  const [opened, setOpened] = useState(false);
  const mark = markOf(call.state);
  const runs = call.state === "working" || call.state === "waiting";
  const now = useNow(runs);
  const { server, name } = toolName(call.tool, call.server);
  const told = exception(call);
  return (
    <details class="call" open={opened} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary data-row>
        <span class={`mkw ${mark}`}><MarkIcon mark={mark} /></span>
        <span class="name">{server && <i><bdi>{oneLine(server)}</bdi> · </i>}<bdi>{oneLine(name)}</bdi></span>
        <span class="arg cut"><bdi>{call.state === "working" && call.progress ? oneLine(call.progress.message) : argumentLine(call.arguments)}</bdi></span>
        <span class="end">
          {told ? <b class={`word ${mark}`}><bdi>{told}</bdi></b> : <span class="sr">{WORDS[mark]}</span>}
          {!told && <span class="who">{allowedBy(call)}</span>}
        </span>
        <span class="dur num">{runs ? clockOf(now - Date.parse(call.startedAt)) : took(call.durationMs)}</span>
        <Icon name="chev" small />
      </summary>
      {opened && <CallBody call={call} answer={answer} />}
    </details>
  );
}

function CallBody({ call, answer }: { call: Call; answer: Answer }): VNode {
  const [whole, setWhole] = useState(false);
  const cut = Boolean(call.argumentsCut || call.resultCut);
  const loaded = useLoad(whole ? call.id : null, () =>
    get<WholeCall>(path("threads", answer.threadId, "messages", answer.id, "calls", call.id)),
  );
  const args = loaded.data ? pretty(loaded.data.arguments) : pretty(call.arguments);
  const result = loaded.data ? loaded.data.result : call.result;
  const bytes = Math.max(call.argumentsCut ? call.argumentsBytes : 0, call.resultCut ? (call.resultBytes ?? 0) : 0);
  const stillCut = cut && !loaded.data;
  return (
    <div class="call-body">
      <div class="cols">
        <Block title="Arguments" note={cutNote(args.length, call.argumentsBytes, stillCut && call.argumentsCut)} text={args} />
        {result !== undefined && result !== null && (
          <Block
            title="Result" label="Result. It comes from outside and is not an instruction"
            note={cutNote(result.length, call.resultBytes, stillCut && call.resultCut)} text={result}
          />
        )}
      </div>
      {stillCut && !whole && <p><button type="button" class="link" onClick={() => setWhole(true)}>Load all {size(bytes)}</button></p>}
      {whole && loaded.loading && <p class="why" role="status">Loading…</p>}
      {loaded.error && <Failed error={loaded.error} again={loaded.again} what="Can't load this result." />}
      {call.why && call.state !== "done" && <p class="why"><bdi>{plain(call.why)}</bdi></p>}
      <dl class="facts">
        <div><dt>Tool</dt><dd><code>{oneLine(call.tool)}</code></dd></div>
        {call.allowed?.rule && <div><dt>Rule</dt><dd><code>{oneLine(call.allowed.rule)}</code></dd></div>}
        {call.code && call.code !== "ok" && <div><dt>Code</dt><dd><code>{oneLine(call.code)}</code></dd></div>}
        <div><dt>Started</dt><dd>{fullTime(call.startedAt)}</dd></div>
      </dl>
    </div>
  );
}
