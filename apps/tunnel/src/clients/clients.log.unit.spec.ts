import { describe, expect, it } from '@jest/globals';
import { boundedSay, LINES_PER_MINUTE } from './clients.log.js';

const START_MS = Date.parse('2026-12-01T00:00:00Z');

describe('failures of clients', () => {
  const said: string[] = [];
  let nowMs = START_MS;
  const say = boundedSay(
    (_, message) => said.push(message),
    () => new Date(nowMs),
  );

  it('are logged up to a number in a minute, whatever clients send', () => {
    for (let at = 0; at < 1_000; at += 1) say('warn', `a request: ${at}`);
    expect(said).toHaveLength(LINES_PER_MINUTE);
    expect(said.at(-1)).toBe(`a request: ${LINES_PER_MINUTE - 1}`);
  });

  it('are counted when they were not logged, with the first one after the minute', () => {
    said.length = 0;
    nowMs = START_MS + 59_999;
    say('warn', 'a request: late');
    expect(said).toEqual([]);
    nowMs = START_MS + 60_000;
    say('warn', 'a request: after');
    expect(said).toEqual([`${1_001 - LINES_PER_MINUTE} more failures of clients were not logged`, 'a request: after']);
    nowMs = START_MS + 120_000;
    say('warn', 'a request: alone');
    expect(said.at(-1)).toBe('a request: alone');
    expect(said).toHaveLength(3);
  });
});
