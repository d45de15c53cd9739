import { NONE, type Fact, type RealmName, type RealmProblem, type StreamId } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

/** The stream with the states of a namespace's realms. */
export const realmsStream = (namespace: string): StreamId => ({ namespace, cluster: NONE, context: 'realms' });

export type RealmFact = Fact<'RealmReady' | 'RealmNotReady'>;

/** The result of a realm check. `problem` undefined: it is ready. */
export type RecordLook = Command<
  'RecordLook',
  {
    readonly namespace: string;
    readonly realm: RealmName;
    readonly registration: string;
    readonly problem?: { readonly reason: RealmProblem; readonly message: string };
  }
>;

interface Found {
  readonly registration: string;
  /** null: it was ready. */
  readonly reason: RealmProblem | null;
}

/** The last state of each realm, by name. */
export type RealmsState = Readonly<Record<string, Found>>;

/** Records each change of a realm's state once. */
export const realms: Decider<RealmsState, RecordLook, RealmFact> = {
  initial: {},

  decide: (state, { data: { namespace, realm, registration, problem } }) => {
    const last = state[realm];
    const reason = problem?.reason ?? null;
    if (last !== undefined && last.registration === registration && last.reason === reason) return nothing;
    const about = { name: namespace, realm, registration } as RealmFact['data'];
    return problem === undefined
      ? [{ type: 'RealmReady', data: about }]
      : [{ type: 'RealmNotReady', data: { ...about, ...problem } }];
  },

  evolve: (state, event) => {
    switch (event.type) {
      case 'RealmReady':
      case 'RealmNotReady': {
        const { realm, registration } = event.data;
        const reason = event.type === 'RealmReady' ? null : event.data.reason;
        return { ...state, [realm]: { registration, reason } };
      }
      default:
        return state;
    }
  },
};
