import { writeWhole } from '@fairlead/mirror';
import { parseJson } from '@fairlead/parsers';
import { fromPublic, fromSeed } from '@nats-io/nkeys';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { CliFailure, wordsOf } from '../failures.js';
import { endLine, Header, LINE_BYTES_MAX, messageLine, parseLine, signedText, type Line } from './handover.file.js';
import type { Message, Moved } from './handover.ports.js';

const OWNER_ONLY = 0o600;
const NEWLINE = 0x0a;

export type Content = AsyncIterable<readonly [Moved, Message]>;

/** The content of a file, and the seed of the key that signs it. */
export interface Export {
  readonly header: Header;
  readonly content: Content;
  readonly seed: string;
}

async function* linesOf({ header, content, seed }: Export): AsyncGenerator<string> {
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
  const sha256 = hash.digest('hex');
  const signature = fromSeed(Buffer.from(seed)).sign(signedText(sha256));
  yield `${endLine({ messages, sha256, signature: Buffer.from(signature).toString('base64') })}\n`;
}

/** Written atomically and readable only by its owner; replaces an existing file. */
export const writeHandover = async (file: string, exported: Export): Promise<void> => {
  const gzip = createGzip();
  // An error of the content is thrown to the reader of the compressed bytes.
  pipeline(Readable.from(linesOf(exported)), gzip, () => undefined);
  await writeWhole(file, gzip, OWNER_ONLY);
};

/** The lines of a compressed file, with a limited length. */
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
  let source = '';
  for await (const { text, before } of readLines(file, createHash('sha256'))) {
    if (isOver) throw new Error('lines follow its end');
    if (isFirst) {
      isFirst = false;
      const header = Header.parse(parseJson(text, { lengthMax: LINE_BYTES_MAX }));
      ({ source } = header);
      yield { kind: 'header', header };
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
    if (!fromPublic(source).verify(signedText(before), Buffer.from(line.end.signature, 'base64')))
      throw new Error('its signature is not that of the key that it names');
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

const otherSource = (source: string, given: string): CliFailure =>
  new CliFailure('conflict', {
    code: 'cli.handover-other-source',
    message: `The file is signed by ${source}, not by ${given}`,
    help: 'Compare the key with the one that "fairlead handover export" printed at the source. If it differs, the file is another one.',
  });

/** Reads and verifies the whole file, including the signature of the source. */
export const checkHandover = async (file: string, source: string): Promise<Header> => {
  const header = await headerOf(file);
  if (header.source !== source) throw otherSource(header.source, source);
  return header;
};

const headerOf = async (file: string): Promise<Header> => {
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
