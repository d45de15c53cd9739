import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { causeGraph, traceSentence, type CausedEntry } from './causes.js';
import { verifyChains, type LoggedMessage } from './verify.js';

const sha256 = (text: string): Promise<string> => Promise.resolve(createHash('sha256').update(text).digest('hex'));
const FIRST = '0'.repeat(64);

/** A chain of messages as the log has them. */
const chain = async (count: number, context = 'request', firstSeq = 1): Promise<LoggedMessage[]> => {
  const messages: LoggedMessage[] = [];
  let prevHash = FIRST;
  for (let version = 1; version <= count; version += 1) {
    const message = JSON.stringify({ streamversion: version, prevhash: prevHash, data: { step: version } });
    const hash = await sha256(message);
    messages.push({ seq: firstSeq + version - 1, context, sha256: hash, prevHash, message });
    prevHash = hash;
  }
  return messages;
};

const faultsOf = async (messages: readonly LoggedMessage[]): Promise<readonly string[]> =>
  (await verifyChains(messages, sha256, { isComplete: true })).faults.map(({ seq, fault }) => `${seq}: ${fault}`);

describe('a log that a browser verifies', () => {
  it('is intact when each message follows from the one before it in its context', async () => {
    const messages = [...(await chain(3)), ...(await chain(2, 'machines', 4))];
    const verdict = await verifyChains(messages, sha256, { isComplete: true });
    expect(verdict).toMatchObject({ messages: 5, hashed: 5, chains: 2, faults: [] });
    expect(verdict.ends.map(({ context, seq }) => [context, seq])).toEqual([
      ['request', 3],
      ['machines', 5],
    ]);
  });

  it('is refused when a message was changed, whether or not its hash was changed as well', async () => {
    const [one, two, three] = await chain(3);
    const changed = two!.message!.replace('"step":2', '"step":9');
    expect(await faultsOf([one!, { ...two!, message: changed }, three!])).toEqual([
      '2: has other bytes than the gateway hashed: it was changed on the way, or in this file',
      '3: does not follow from event 2: that one was changed, or one is missing between them',
    ]);
    expect(await faultsOf([one!, { ...two!, message: changed, sha256: await sha256(changed) }, three!])).toEqual([
      '3: does not follow from event 2: that one was changed, or one is missing between them',
    ]);
  });

  it('is refused when a message is missing, was added, or is elsewhere', async () => {
    const [one, two, three] = await chain(3);
    expect((await faultsOf([one!, three!]))[0]).toContain('3: does not follow from event 1');
    expect((await faultsOf([two!, three!]))[0]).toContain('2: is the first of its chain here');
    expect(await faultsOf([two!, one!, three!])).toContain('1: is not in the order of the log');
    const added = { ...one!, seq: 4, message: '{"not":"an event"}', sha256: await sha256('{"not":"an event"}') };
    expect((await faultsOf([one!, two!, three!, added]))[0]).toContain('4: is not an event');
  });

  it('counts apart what it may not see, and still links it', async () => {
    const [one, two, three] = await chain(3);
    const hidden = { ...two!, message: null };
    const verdict = await verifyChains([one!, hidden, three!], sha256, { isComplete: true });
    expect([verdict.hashed, verdict.faults]).toEqual([2, []]);
    expect((await faultsOf([one!, { ...hidden, sha256: FIRST }, three!]))[0]).toContain('3: does not follow');
  });
});

const entry = (seq: number, sentence: string, cause?: number, actor = 'system/infra-svc'): CausedEntry => ({
  ...{ seq, type: `Event${seq}`, time: '2026-11-28T10:00:00Z', actor, source: 'infra-svc', sentence },
  because: cause === undefined ? [] : [{ seq: cause }],
});

const HISTORY = [
  entry(1, 'a cluster was requested', undefined, 'user/ada#1'),
  entry(2, 'the cluster is accepted', 1),
  entry(3, 'five machines are planned', 2),
  entry(4, 'machine w-1 is running', 3),
  entry(5, 'machine w-2 is running', 3),
  entry(6, 'all machines are running', 5),
  entry(7, 'something else'),
];

describe('the causes of an event', () => {
  it('are a graph: what led to it before, and what followed behind it', () => {
    const graph = causeGraph(HISTORY, 3);
    expect(graph?.nodes.map(({ entry: { seq }, column }) => [seq, column])).toEqual([
      ...[
        [1, -2],
        [2, -1],
        [3, 0],
        [4, 1],
        [5, 1],
        [6, 2],
      ],
    ]);
    expect(graph?.edges).toContainEqual({ from: 5, to: 6 });
    expect(graph?.lanes).toEqual(['people', 'infra-svc']);
  });

  it('are bounded, and the rest is counted', () => {
    const many = [entry(1, 'a request'), ...Array.from({ length: 100 }, (_, at) => entry(at + 2, 'a step', 1))];
    expect(causeGraph(many, 1, 10)).toMatchObject({ hidden: 90, nodes: { length: 11 } });
    expect(causeGraph(HISTORY, 99)).toBeUndefined();
  });

  it('are one sentence as well', () => {
    expect(traceSentence(HISTORY, 4)).toBe(
      'Machine w-1 is running, because: five machines are planned. It began with: a cluster was requested.',
    );
    expect(traceSentence(HISTORY, 2)).toBe('The cluster is accepted, because: a cluster was requested.');
    expect(traceSentence(HISTORY, 7)).toBe('Something else. Nothing in this history led to it.');
  });
});
