// Files on their way to a turn, within the limits of the server.

import { signal } from "@preact/signals";
import { ApiError, change, path, upload } from "../api/client";
import type { Limits, Upload } from "../api/types";
import { oneLine, plain, size } from "../text/words";

/** One file: on its way (`done` from 0 to 1), there, or refused. */
export type Chip = { key: number; name: string; sizeBytes: number; done: number; upload: Upload | null; error: string | null; stop: AbortController };

/** The files of one draft. */
export class Uploads {
  readonly chips = signal<Chip[]>([]);
  private next = 1;

  /** Takes files in; those over a limit are named and the others stay. Returns what could not be taken, in words. */
  add(files: Iterable<File>, limits: Limits): string[] {
    const refused: string[] = [];
    for (const file of files) {
      const why = this.refusal(file, limits);
      if (why) refused.push(why);
      else this.send(file);
    }
    return refused;
  }

  private refusal(file: File, limits: Limits): string | null {
    const name = oneLine(file.name);
    const chips = this.chips.value.filter((chip) => !chip.error);
    if (file.size > limits.fileBytes) return `${name} is larger than ${size(limits.fileBytes)} and was not attached.`;
    if (chips.length >= limits.turnFiles) return `${name} was not attached: a message takes ${limits.turnFiles} files.`;
    const sum = chips.reduce((total, chip) => total + chip.sizeBytes, file.size);
    if (sum > limits.turnBytes) return `${name} was not attached: together the files are larger than ${size(limits.turnBytes)}.`;
    return null;
  }

  private send(file: File): void {
    const chip: Chip = { key: this.next++, name: oneLine(file.name), sizeBytes: file.size, done: 0, upload: null, error: null, stop: new AbortController() };
    this.chips.value = [...this.chips.value, chip];
    upload<Upload>(file, (done) => this.patch(chip.key, { done }), chip.stop.signal).then(
      (it) => this.patch(chip.key, { upload: it, done: 1 }),
      (error: ApiError) => error.code !== "aborted" && this.patch(chip.key, { error: plain(error.message) }),
    );
  }

  private patch(key: number, part: Partial<Chip>): void {
    this.chips.value = this.chips.value.map((chip) => (chip.key === key ? { ...chip, ...part } : chip));
  }

  /** Takes a file off again. */
  remove(key: number): void {
    const chip = this.chips.value.find((it) => it.key === key);
    chip?.stop.abort();
    if (chip?.upload) void change("DELETE", path("uploads", chip.upload.id)).catch(() => {});
    this.chips.value = this.chips.value.filter((it) => it.key !== key);
  }

  /** Whether something is still on its way. */
  get busy(): boolean {
    return this.chips.value.some((chip) => !chip.upload && !chip.error);
  }

  /** Takes what is there out, for sending. */
  taken(): Upload[] {
    return this.chips.value.flatMap((chip) => (chip.upload ? [chip.upload] : []));
  }

  /** Forgets all, after sending. */
  clear(): void {
    this.chips.value = [];
  }
}
