// Loading and the clock, as hooks.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";

/** What was loaded. Old data stays while new data loads. */
export type Loaded<T> = { data: T | null; error: ApiError | null; loading: boolean; again: () => void };

/** Loads when `key` changes; `null` loads nothing. */
export function useLoad<T>(key: string | null, load: () => Promise<T>, keep = true): Loaded<T> {
  const [state, setState] = useState<{ key: string | null; data: T | null; error: ApiError | null; loading: boolean }>({
    key: null, data: null, error: null, loading: true,
  });
  const [round, setRound] = useState(0);
  const current = useRef(load);
  current.current = load;
  useEffect(() => {
    if (key === null) return;
    let gone = false;
    setState((was) => ({ ...was, loading: true, error: null, data: keep || was.key === key ? was.data : null }));
    current.current().then(
      (data) => !gone && setState({ key, data, error: null, loading: false }),
      (error) => !gone && setState((was) => ({ ...was, error: error as ApiError, loading: false })),
    );
    return () => {
      gone = true;
    };
  }, [key, round]);
  return { data: state.data, error: state.error, loading: state.loading, again: () => setRound((n) => n + 1) };
}

/** The time, every second while something is shown that counts. */
export function useNow(counts: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!counts) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [counts]);
  return now;
}

/** A value that follows once it has stood still for a moment. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
