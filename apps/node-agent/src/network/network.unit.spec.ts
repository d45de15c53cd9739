import { ExternalFailure, type AgentNetworkMessage, type DesiredNetwork } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryHost } from '../../test/memory.host.js';
import { node, otherUid, uid } from '../agent/agent.fixtures.js';
import type { AgentFact } from '../node/agent.facts.js';
import { Metronome } from '../time/metronome.js';
import { NetworkLoop } from './network.effects.js';
import { FIREWALL, messageOf } from './network.fixtures.js';
import { Reverted, type NetworkPart, type NetworkPlatform } from './network.ports.js';

const REVISION = '0123456789abcdef';
const OTHER = 'fedcba9876543210';

/** A part whose failures are configurable. */
class Part implements NetworkPart {
  readonly applied: DesiredNetwork[] = [];
  error: Error | undefined;

  constructor(readonly part: NetworkPart['part']) {}

  apply(desired: DesiredNetwork): Promise<void> {
    this.applied.push(desired);
    return this.error === undefined ? Promise.resolve() : Promise.reject(this.error);
  }
}

describe('the network configuration on a host', () => {
  let host: MemoryHost;
  let firewall: Part;
  let sshd: Part;
  let facts: AgentFact[];
  let push: (message: AgentNetworkMessage, asked?: boolean) => void;
  let loop: NetworkLoop;

  const start = async (): Promise<void> => {
    const platform: NetworkPlatform = {
      onNetwork: (callback) => {
        push = (message, asked = false) => callback(message, asked);
      },
      onConnected: () => undefined,
      isConnected: () => true,
    };
    loop = new NetworkLoop({
      config: { uid, node },
      host,
      platform,
      parts: [sshd, firewall],
      metronome: new Metronome(),
      random: () => 0,
      log: () => undefined,
      say: async (said) => void facts.push(...said),
    });
    await loop.start();
  };
  const stated = (count: number): Promise<AgentFact[]> =>
    eventually(async () => (facts.length >= count ? facts : undefined));

  beforeEach(async () => {
    host = new MemoryHost();
    [sshd, firewall, facts] = [new Part('sshd'), new Part('firewall'), []];
    await start();
  });

  afterEach(() => loop.stop());

  const applied = { type: 'NodeNetworkApplied', data: { uid, node, revision: REVISION, attempt: 1 } };
  const failed = (part: string, message: string, reverted: boolean) => ({
    type: 'NodeNetworkFailed',
    data: { uid, node, revision: REVISION, attempt: 1, failures: [{ part, command: 'nft', message, reverted }] },
  });

  it('is applied part by part, and stated once', async () => {
    push(messageOf({ firewall: FIREWALL }));
    push(messageOf({ firewall: FIREWALL }));
    expect(await stated(1)).toEqual([applied]);
    expect(firewall.applied).toHaveLength(1);
    expect(sshd.applied).toHaveLength(1);
  });

  it('is applied after a boot without NATS, and not stated again', async () => {
    push(messageOf({ firewall: FIREWALL }));
    await stated(1);
    await loop.stop();
    firewall = new Part('firewall');
    await start();
    await eventually(async () => (firewall.applied.length === 1 ? true : undefined));
    expect(firewall.applied[0]?.firewall).toEqual(FIREWALL);
    expect(facts).toHaveLength(1);
  });

  it('is ignored if it is older, or belongs to another node or cluster', async () => {
    push(messageOf({ firewall: FIREWALL }, { seq: 5 }));
    await stated(1);
    push(messageOf({}, { seq: 4, revision: OTHER }));
    const { data } = messageOf({}, { seq: 6, revision: OTHER });
    push({ id: 'event-6', seq: 6, data: { ...data, uid: otherUid } });
    push({ id: 'event-7', seq: 7, data: { ...data, node: 'demo-w-9-zzzzz' as typeof data.node } });
    push(messageOf({ firewall: FIREWALL }, { seq: 8, revision: OTHER }));
    expect((await stated(2)).map((fact) => (fact.data as { revision: string }).revision)).toEqual([REVISION, OTHER]);
    expect(firewall.applied).toHaveLength(2);
  });

  it('is applied in the other parts after one part failed, and retried', async () => {
    firewall.error = new ExternalFailure({ operation: 'nft', target: 'host', message: 'no such program' });
    push(messageOf({ firewall: FIREWALL }));
    expect(await stated(1)).toEqual([failed('firewall', 'no such program', false)]);
    expect(sshd.applied).toHaveLength(1);
    firewall.error = undefined;
    expect(await stated(2)).toEqual([failed('firewall', 'no such program', false), applied]);
  });

  it('is not retried after a revert until it changes or an operator requests it', async () => {
    firewall.error = new Reverted('nft', 'NATS is not reached');
    push(messageOf({ firewall: FIREWALL }));
    expect(await stated(1)).toEqual([failed('firewall', 'NATS is not reached', true)]);
    await loop.stop();
    await start();
    const other = { revision: OTHER, seq: 2 };
    push(messageOf({ firewall: FIREWALL, sshd: { hardening: true, tcpForwarding: false } }, other));
    expect((await stated(2))[1]).toMatchObject({ data: { revision: OTHER, failures: [{ reverted: true }] } });
    expect(firewall.applied).toHaveLength(1);
    firewall.error = undefined;
    push(
      messageOf(
        { firewall: FIREWALL, sshd: { hardening: true, tcpForwarding: false } },
        { ...other, seq: 3, attempt: 2 },
      ),
    );
    expect((await stated(3))[2]).toMatchObject({ type: 'NodeNetworkApplied', data: { attempt: 2 } });
    expect(firewall.applied).toHaveLength(2);
  });
});
