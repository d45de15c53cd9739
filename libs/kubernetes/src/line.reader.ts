import type { AnswerReader } from './http.requests.js';

const LINE_BYTES_MAX = 4 * 1024;
const LINES_MAX = 1_000;
const NEWLINE = 0x0a;

/**
 * The lines of a response that begin with a prefix, at most 1,000 of at most 4 KiB each; longer ones are omitted.
 * Responses are read up to `bytesMax`: nothing else of them is kept.
 */
export class LinesBeginning implements AnswerReader<readonly string[]> {
  private readonly prefix: Buffer;
  private readonly lines: string[] = [];
  /** The start of an incomplete line. */
  private open = Buffer.alloc(0);
  /** The current line is skipped. */
  private skips = false;
  private bytes = 0;

  constructor(
    prefix: string,
    private readonly bytesMax: number,
  ) {
    this.prefix = Buffer.from(prefix);
  }

  begin(): void {
    // Any length is accepted.
  }

  take(piece: Buffer): void {
    const chunk = piece.subarray(0, Math.max(0, this.bytesMax - this.bytes));
    this.bytes += chunk.length;
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.add(chunk.subarray(from, end));
      this.endLine();
      from = end + 1;
    }
    this.add(chunk.subarray(from));
  }

  end(): readonly string[] {
    this.endLine();
    return this.lines;
  }

  private add(piece: Buffer): void {
    if (this.skips || piece.length === 0) return;
    const line = this.open.length === 0 ? piece : Buffer.concat([this.open, piece]);
    const known = Math.min(line.length, this.prefix.length);
    const isOther = !line.subarray(0, known).equals(this.prefix.subarray(0, known));
    this.skips = isOther || line.length > LINE_BYTES_MAX || this.lines.length >= LINES_MAX;
    // A copy: the chunk is part of a buffer that would be retained with it.
    this.open = this.skips ? Buffer.alloc(0) : Buffer.from(line);
  }

  private endLine(): void {
    if (!this.skips && this.open.length > this.prefix.length) this.lines.push(this.open.toString('utf8'));
    this.open = Buffer.alloc(0);
    this.skips = false;
  }
}
