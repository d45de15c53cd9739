import { writeWhole } from '@fairlead/mirror';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { CliFailure, wordsOf } from '../failures.js';
import { endLine, Header, LINE_BYTES_MAX, messageLine, parseLine, type Line } from './handover.file.js';
import type { Message, Moved } from './handover.ports.js';

const OWNER_ONLY = 0o600;
const NEWLINE = 0x0a;

export type Content = AsyncIterable<readonly [Moved, Message]>;

async function* linesOf(header: Header, content: Content): AsyncGenerator<string> {
  const hash = createHash('sha256');
  const line = (text: string): string => {
    const whole = `${text}\n`;
    hash.update(whole);
    return whole;
  };
  let messages = 0;
  yield line(JSON.stringify(header));
  for await (const [of, message] of content) {
    messages += 1;
    yield line(messageLine(of, message));
  }
  yield `${endLine({ messages, sha256: hash.digest('hex') })}\n`;
}

/** Whole or not at all, for its owner only; one that exists is replaced. */
export const writeHandover = async (file: string, header: Header, content: Content): Promise<void> => {
  const gzip = createGzip();
  // A failure of the content is thrown to the reader of the compressed bytes.
  pipeline(Readable.from(linesOf(header, content)), gzip, () => undefined);
  await writeWhole(file, gzip, OWNER_ONLY);
};

/** Lines of a compressed file, each of bounded length. */
async function* readLines(file: string, hash: Hash): AsyncGenerator<{ text: string; before: string }> {
  let rest = Buffer.alloc(0);
  const input = createReadStream(file);
  const unpacked = input.pipe(createGunzip());
  input.on('error', (error) => unpacked.destroy(error));
  for await (const chunk of unpacked as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      const line = rest.subarray(0, end + 1);
      const before = hash.copy().digest('hex');
      hash.update(line);
      yield { text: line.toString('utf8'), before };
      rest = rest.subarray(end + 1);
    }
    if (rest.length > LINE_BYTES_MAX) throw new Error(`a line is longer than ${LINE_BYTES_MAX} bytes`);
  }
  if (rest.length > 0) throw new Error('it does not end with a whole line');
}

async function* checkedLines(
  file: string,
): AsyncGenerator<Line | { readonly kind: 'header'; readonly header: Header }> {
  let messages = 0;
  let isFirst = true;
  let isOver = false;
  for await (const { text, before } of readLines(file, createHash('sha256'))) {
    if (isOver) throw new Error('lines follow its end');
    if (isFirst) {
      isFirst = false;
      yield { kind: 'header', header: Header.parse(JSON.parse(text)) };
      continue;
    }
    const line = parseLine(text);
    yield line;
    if (line.kind === 'message') {
      messages += 1;
      continue;
    }
    isOver = true;
    if (line.end.messages !== messages || line.end.sha256 !== before)
      throw new Error('its content does not match the digest at its end');
  }
  if (!isOver) throw new Error('its end is missing');
}

const invalid = (file: string, error: unknown): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.handover-file-invalid',
    message: `${file} cannot be imported: ${wordsOf(error)}`,
    help: 'Copy the file that "fairlead handover export" wrote again, or export again.',
    cause: error,
  });

/** Reads the whole file, and checks it. */
export const checkHandover = async (file: string): Promise<Header> => {
  let header: Header | undefined;
  try {
    for await (const line of checkedLines(file)) if (line.kind === 'header') header = line.header;
    if (header === undefined) throw new Error('it is empty');
    return header;
  } catch (error) {
    throw invalid(file, error);
  }
};

/** The messages of one kind, in order. */
export async function* messagesIn(file: string, of: Moved): AsyncGenerator<Message> {
  for await (const line of checkedLines(file)) if (line.kind === 'message' && line.of === of) yield line.message;
}
