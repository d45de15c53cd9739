import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const SIZE_MAX_BYTES = 8 * 1024 * 1024;

/**
 * The output of a process, in a file below 8 MiB; one older file is kept beside it (`.1`). Writes are synchronous: they
 * end in the page cache, and nothing is lost or reordered by a crash or a rotation. Lines that a full disk rejects are
 * dropped, and their number is written as soon as there is space.
 */
export class LogFile {
  private descriptor: number;
  private closed = false;
  private sizeBytes: number;
  private linesLost = 0;

  constructor(
    private readonly file: string,
    private readonly sizeMaxBytes: number = SIZE_MAX_BYTES,
  ) {
    mkdirSync(dirname(file), { recursive: true });
    this.descriptor = openSync(file, 'a', 0o600);
    this.sizeBytes = fstatSync(this.descriptor).size;
  }

  write(text: string): void {
    if (this.closed) return; // A last line of a process that is no longer waited for.
    try {
      if (this.linesLost > 0) this.append(`(${this.linesLost} lines could not be written)\n`);
      this.linesLost = 0;
      this.append(text);
    } catch {
      this.linesLost += 1; // A full disk must not end processes because of their log.
    }
  }

  private append(text: string): void {
    const bytes = Buffer.from(text);
    if (this.sizeBytes > 0 && this.sizeBytes + bytes.length > this.sizeMaxBytes) this.rotate();
    this.sizeBytes += writeSync(this.descriptor, bytes);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    closeSync(this.descriptor);
  }

  private rotate(): void {
    renameSync(this.file, `${this.file}.1`);
    const next = openSync(this.file, 'a', 0o600);
    closeSync(this.descriptor);
    this.descriptor = next;
    this.sizeBytes = 0;
  }
}
