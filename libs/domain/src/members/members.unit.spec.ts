import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { StoredEvent, Machine, MachinePlan } from '@fairlead/contracts';
import { membersAfter, newMember, type Member, type Members } from './members.js';

/**
 * Histories of simulations, with the answers of the services' former folds after each event: one line per event, with
 * the changes in their answers. Those folds no longer exist, so the file is never regenerated.
 */
const HISTORIES = readFileSync(new URL('golden/former-folds.golden', import.meta.url), 'utf8');

type Answers = Readonly<Record<string, Readonly<Record<string, string>>>>;
interface Line {
  readonly event: StoredEvent;
  readonly answers: Answers;
}

/** Histories omit fields that no member depends on. */
const REASON = { condition: 'NotReady', since: '2026-01-01T00:00:00.000Z' };

const lineOf = (text: string): Line => {
  const { type, data = {}, answers = {} } = JSON.parse(text) as { type: string; data?: object; answers?: Answers };
  return { event: { type, data: { reason: REASON, ...data }, meta: {} } as unknown as StoredEvent, answers };
};

const histories = HISTORIES.split('# ')
  .slice(1)
  .map((text) => {
    const [name = '', ...lines] = text.trim().split('\n');
    return { name, lines: lines.map(lineOf) };
  });

type Entering = 'VmsPlanned' | 'VmsCreated';

const after = (members: Members, event: StoredEvent, from: Entering): Members => {
  if (event.type === 'ClusterRequested' || event.type === 'ClusterDeleted') return {};
  const machines: readonly (Machine | MachinePlan)[] =
    (event.type === 'VmsPlanned' || event.type === 'VmsCreated') && event.type === from ? event.data.machines : [];
  return membersAfter(members, event, machines.map(newMember));
};

/** Where the former folds learned of a machine; the others learned of it from its plan. */
const FROM: Readonly<Record<string, Entering>> = { network: 'VmsCreated', rollout: 'VmsCreated' };

const ANSWERS: Readonly<Record<string, (member: Member) => boolean | string>> = {
  members: () => true,
  joined: ({ joined }) => joined,
  wasReady: ({ wasReady }) => wasReady,
  leaving: ({ leaving }) => leaving,
  ready: ({ ready }) => ready,
  lost: ({ lost }) => lost,
  departing: ({ leaving, replacedBy }) => leaving || replacedBy !== null,
  replacedBy: ({ replacedBy }) => replacedBy ?? false,
};

const answerOf = (members: Members, attribute: string): ReadonlySet<string> =>
  new Set(
    Object.values(members).flatMap((member) => {
      const is = ANSWERS[attribute]?.(member) ?? false;
      return is === false ? [] : [is === true ? member.name : `${member.name}=${is}`];
    }),
  );

/** The former answers. Each line adds names with + and removes them with -. */
class Former {
  private readonly known = new Map<string, Set<string>>();

  read({ answers, event }: Line): void {
    if (event.type === 'ClusterRequested') this.known.clear();
    for (const [attribute, changes] of Object.entries(answers))
      for (const [folds, names] of Object.entries(changes))
        for (const fold of folds.split(' ')) this.change(fold, attribute, names.split(' '));
  }

  private change(fold: string, attribute: string, names: readonly string[]): void {
    const key = `${fold} ${attribute}`;
    const known = this.known.get(key) ?? new Set<string>();
    this.known.set(key, known);
    for (const name of names) known[name.startsWith('+') ? 'add' : 'delete'](name.slice(1));
  }

  of(fold: string, attribute: string): ReadonlySet<string> {
    return this.known.get(`${fold} ${attribute}`) ?? new Set();
  }
}

/** Every fold, with the attributes of a member that it knew. */
const ASKED = [
  ...new Set(
    histories.flatMap(({ lines }) =>
      lines.flatMap(({ answers }) =>
        Object.entries(answers).flatMap(([attribute, changes]) =>
          Object.keys(changes).flatMap((folds) => folds.split(' ').map((fold) => `${fold} ${attribute}`)),
        ),
      ),
    ),
  ),
].map((key) => key.split(' ') as [fold: string, attribute: string]);

const nameOf = (answer: string): string => answer.split('=')[0] ?? '';

/** `<fold> <attribute>: more after <event>` for each kind of difference, by the event that introduced it. */
const differencesIn = (lines: readonly Line[]): readonly string[] => {
  const former = new Former();
  const found = new Set<string>();
  const open = new Set<string>();
  let members: Readonly<Record<Entering, Members>> = { VmsPlanned: {}, VmsCreated: {} };
  for (const line of lines) {
    former.read(line);
    const { event } = line;
    members = {
      VmsPlanned: after(members.VmsPlanned, event, 'VmsPlanned'),
      VmsCreated: after(members.VmsCreated, event, 'VmsCreated'),
    };
    for (const [fold, attribute] of ASKED) {
      if (ANSWERS[attribute] === undefined) continue;
      const known = former.of(fold, 'members');
      const before = former.of(fold, attribute);
      const now = answerOf(members[FROM[fold] ?? 'VmsPlanned'], attribute);
      const note = (answer: string, is: boolean, how: string): void => {
        const key = `${fold} ${attribute} ${answer} ${how}`;
        if (is && !open.has(key)) found.add(`${fold} ${attribute}: ${how} after ${event.type}`);
        open[is ? 'add' : 'delete'](key);
      };
      const concerned = attribute === 'members' ? now : [...now].filter((answer) => known.has(nameOf(answer)));
      for (const answer of new Set([...concerned, ...before])) {
        note(answer, now.has(answer) && !before.has(answer), 'more');
        note(answer, before.has(answer) && !now.has(answer), 'less');
      }
    }
  }
  return [...found];
};

/**
 * Differences that were decided (ADR 98), where former folds disagreed with each other: who leaves with a surge, a
 * rollback or NodeRemoved; a node that is being replaced gets no second replacement; NodeReady ends lost. The rows of
 * nodes show `lost` as stated, and end with NodeRemoved.
 */
const DECIDED = [
  'actions leaving: more after SurgeFailed',
  'actions leaving: more after SurgeReleased',
  'actions replacedBy: less after NodeReplacementRequested',
  'actions replacedBy: less after RemediationRequested',
  'actions replacedBy: more after NodeReplacementRequested',
  'clusters leaving: more after NodeRemoved',
  'clusters leaving: more after SurgeFailed',
  'clusters leaving: more after SurgeReleased',
  'clusters lost: less after NodeReady',
  'drift departing: less after NodesRejected',
  'drift departing: less after RemediationFailed',
  'drift departing: more after NodesAbandoned',
  'drift departing: more after NodesFailed',
  'drift departing: more after SurgeFailed',
  'drift departing: more after SurgeReleased',
  'gateway-nodes leaving: more after NodeRemoved',
  'gateway-nodes leaving: more after SurgeFailed',
  'gateway-nodes leaving: more after SurgeReleased',
  'gateway-nodes lost: less after NodeReady',
  'network leaving: more after NodesFailed',
  'network leaving: more after SurgeFailed',
  'network leaving: more after SurgeReleased',
  'network lost: less after NodeReady',
  'presence leaving: more after SurgeFailed',
  'present leaving: more after NodeRemoved',
  'present leaving: more after SurgeFailed',
  'present leaving: more after SurgeReleased',
  'remediation members: more after VmsPlanned',
  'remediation replacedBy: less after NodeReplacementRequested',
  'remediation replacedBy: more after NodeReplacementRequested',
  'remediation replacedBy: more after RemediationRequested',
  'rollout members: more after NodeRemoved',
  'upgrade-nodes lost: less after NodeReady',
  'upgrade-nodes members: more after NodeRemoved',
];

describe('the members of a cluster', () => {
  it('equal the answers of every former fold over all recorded histories, except for decided differences', () => {
    expect(histories.length).toBeGreaterThan(20);
    const differences = new Set(histories.flatMap(({ lines }) => differencesIn(lines)));
    expect([...differences].toSorted()).toEqual(DECIDED);
  });
});
