import type { NodeName } from '@fairlead/contracts';
import type { PortAnswer } from '@fairlead/node-scripts';
import { describe, expect, it } from '@jest/globals';
import { portsSentence, unreachedPorts, type CheckedPort } from './ports.planner.js';

const W1 = 'demo-w-1-aaaaa' as NodeName;
const API: CheckedPort = { name: 'the API', address: '192.0.2.5', port: 9998, need: 'open' };
const cp = (port: number): CheckedPort => ({ name: 'demo-cp-1', address: '192.0.2.11', port, need: 'reachable' });
const PORTS = [API, cp(6443), cp(10_250)];

const found = (answers: readonly PortAnswer['answer'][], alive: readonly string[] = []): readonly string[] =>
  unreachedPorts({
    source: W1,
    ports: PORTS,
    answers: answers.map((answer, target) => ({ target, answer, words: 'No route to host' })),
    alive: new Set(alive),
  });

describe('the ports between nodes', () => {
  it('are all reached if each answers, also one on which nothing listens yet', () => {
    expect(found(['open', 'open', 'refused'])).toEqual([]);
    expect(found(['unknown', 'unknown', 'unknown'])).toEqual([]);
  });

  it('that a firewall drops are named with source, target and port', () => {
    expect(found(['open', 'silent', 'open'])).toEqual([
      'demo-w-1-aaaaa does not reach demo-cp-1 (192.0.2.11) on port 6443: no answer within 5 s, so a firewall may drop it',
    ]);
    expect(found(['unreachable', 'open', 'open'])[0]).toBe(
      'demo-w-1-aaaaa does not reach the API (192.0.2.5) on port 9998: No route to host',
    );
  });

  it('are no finding on a control plane that may be off, and one on a control plane that runs', () => {
    expect(found(['open', 'silent', 'silent'])).toEqual([]);
    expect(found(['open', 'silent', 'silent'], ['demo-cp-1'])).toHaveLength(2);
  });

  it('must be open at the endpoint of the API: a refusal is a finding there', () => {
    expect(found(['refused', 'open', 'open'])[0]).toMatch(/on port 9998: the connection is refused$/);
  });

  it('are named five at a time', () => {
    expect(portsSentence(['a', 'b', 'c', 'd', 'e', 'f', 'g'])).toBe('a; b; c; d; e; and 2 more');
  });
});
