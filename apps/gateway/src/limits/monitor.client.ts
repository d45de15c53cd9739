import { parseJson } from '@fairlead/parsers';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { get as httpsGet } from 'node:https';

const ANSWER_BYTES_MAX = 1024 * 1024;

/** What the monitoring endpoint of NATS answers, parsed as JSON. Not by `fetch`: nothing else in the gateway loads that, which takes 20 ms of each start. */
export const monitored = async (url: URL, timeoutMs: number): Promise<unknown> => {
  const answer = await answerOf(url, timeoutMs);
  if (answer.statusCode !== 200) {
    answer.destroy();
    throw new Error(`it answers with status ${answer.statusCode}`);
  }
  return parseMonitored(await textOf(answer));
};

export const parseMonitored = (text: string): unknown => parseJson(text, { lengthMax: ANSWER_BYTES_MAX });

const answerOf = (url: URL, timeoutMs: number): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const get = url.protocol === 'https:' ? httpsGet : httpGet;
    get(url, { signal: AbortSignal.timeout(timeoutMs) }, resolve).once('error', reject);
  });

const textOf = async (answer: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`its answer is larger than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};
