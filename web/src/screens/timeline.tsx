// A run's steps on one axis: outlined is the model, pale is waiting for a person, striped is unknown.

import type { VNode } from "preact";
import type { RunLine } from "../api/types";
import { barOf, ticksOf } from "../text/timeline";
import type { Row } from "../text/timeline";
import { argumentLine, oneLine, plain, took, toolName, WORDS } from "../text/words";
import { Badge, MarkIcon } from "../ui/icons";
import { useVars } from "../ui/meter";
import { Block, Copy, Empty, pretty } from "../ui/pieces";

const wordOf = (row: Row) => (row.mark === "model" || row.mark === "later" ? "" : row.kind === "call" && row.to === null ? "Interrupted" : WORDS[row.mark]);

/** All steps; each leads to its record. */
export function Timeline({ rows, run, here, picked }: { rows: Row[]; run: RunLine; here: (step: number) => string; picked: number | null }): VNode {
  const start = Date.parse(run.startedAt);
  const last = rows.reduce((end, row) => Math.max(end, row.to ?? row.from ?? 0), start);
  const whole = Math.max(1, run.durationMs ?? 0, last - start);
  if (rows.length === 0) return <Empty icon="runs" title="No step is on record"><p>The run ended before its model answered.</p></Empty>;
  return (
    <>
      <div class="wf">
        <div class="wf-axis" aria-hidden="true">
          <span /><span>Step</span>
          <span class="ticks num">{ticksOf(whole).map((ms) => <span>{ms === 0 ? "0 s" : took(ms)}</span>)}</span>
          <span />
        </div>
        <ol>
          {rows.map((row) => {
            const { server, name } = toolName(row.name);
            const note = row.kind === "call" ? argumentLine(row.arguments) : oneLine(row.note);
            return (
              <li key={row.step}>
                <a class={`wf-row ${row.kind === "call" ? row.mark : "model"}`} href={here(row.step)} aria-current={picked === row.step ? "true" : undefined} data-row>
                  <span class={row.mark}><MarkIcon mark={row.mark} /></span>
                  <span class="nm"><b>{server && <i>{oneLine(server)} · </i>}<bdi>{oneLine(name)}</bdi></b><span class="cut"><bdi>{note}</bdi></span></span>
                  <span class="track" aria-hidden="true"><Bar row={row} start={start} whole={whole} /></span>
                  <span class="dur num">{took(row.durationMs)}</span>
                  {wordOf(row) && <span class="sr">, {wordOf(row)}</span>}
                </a>
              </li>
            );
          })}
        </ol>
      </div>
      <p class="why">Outlined: the model. Pale: waiting for you. Striped: sent, no answer came back.</p>
    </>
  );
}

function Bar({ row, start, whole }: { row: Row; start: number; whole: number }): VNode | null {
  const bar = barOf(row, start, whole);
  const asked = useVars<HTMLSpanElement>(bar ? { "--x": `${bar.x}%`, "--w": `${bar.asked}%` } : {});
  const ran = useVars<HTMLSpanElement>(bar ? { "--x": `${bar.x + bar.asked}%`, "--w": `${bar.w}%` } : {});
  if (!bar) return null;
  return (
    <>
      {bar.asked > 0 && <span class="bar-x asked" ref={asked} />}
      <span class="bar-x" ref={ran} />
    </>
  );
}

/** The record of one step. */
export function StepDetails({ row }: { row: Row }): VNode {
  const facts = row.facts.filter(([, value]) => value);
  const args = row.arguments === undefined ? null : plain(pretty(row.arguments));
  const result = row.result === undefined || row.result === "" ? null : plain(pretty(row.result));
  return (
    <>
      <section class="sec">
        {wordOf(row) && <p><Badge mark={row.mark} word={wordOf(row)} /></p>}
        <dl class="dl">
          {row.from !== null && <><dt>Started</dt><dd class="num">{new Date(row.from).toLocaleTimeString(undefined, { hourCycle: "h23" })}</dd></>}
          {row.durationMs !== null && <><dt>Took</dt><dd class="num">{took(row.durationMs)}</dd></>}
          {row.askedMs > 0 && <><dt>Waited</dt><dd class="num">{took(row.askedMs)} for a person</dd></>}
          {facts.map(([name, value]) => <><dt>{name}</dt><dd><bdi>{oneLine(value)}</bdi></dd></>)}
        </dl>
        {row.kind === "line" && row.note && <p class="why">{plain(row.note)}</p>}
      </section>
      {(args !== null || result !== null) && (
        <section class="sec">
          {args !== null && <Block title="Arguments" text={args} />}
          {result !== null && <Block title={row.kind === "model" ? "It said" : "Result"} text={result} label="Result, as evidence" />}
          <p class="why">Evidence from the past: shown as stored, redacted and cut to bounds. It is not an instruction.</p>
          {result !== null && <div class="acts"><Copy text={() => result} label="Copy result" /></div>}
        </section>
      )}
    </>
  );
}
