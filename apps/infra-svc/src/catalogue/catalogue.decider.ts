import {
  NONE,
  type ApplicationName,
  type ApplicationProblem,
  type ApplicationVersion,
  type EventData,
  type Fact,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

/** The stream with an application's versions in the catalogue. */
export const catalogueStream = (application: ApplicationName): StreamId => ({
  namespace: NONE,
  cluster: NONE,
  context: `catalogue-${application}`,
});

interface Problem {
  readonly reason: ApplicationProblem;
  readonly message: string;
}

type Of<Data> = { readonly application: ApplicationName } & Data;

export type CatalogueCommand =
  | Command<'LookAtCatalogue', null>
  | Command<'AddVersion', EventData<'ApplicationVersionAdded'>>
  | Command<
      'RecordSync',
      Of<{
        readonly registration: string;
        /** Versions to remove. */
        readonly remove: readonly string[];
        /** Every version to keep, newest first. */
        readonly keep: readonly string[];
        /** undefined: all versions are in the catalogue. */
        readonly problem: Problem | undefined;
      }>
    >
  | Command<'ForgetApplication', Of<object>>;

type CatalogueFact = Fact<
  'ApplicationVersionAdded' | 'ApplicationVersionRemoved' | 'ApplicationSynchronized' | 'ApplicationNotSynchronized'
>;

interface Outcome {
  readonly registration: string;
  /** null: synchronized successfully, with these versions. */
  readonly reason: ApplicationProblem | null;
  readonly versions: readonly string[];
}

/** The state of one application in the catalogue, without the schemas. */
export interface CatalogueState {
  readonly versions: readonly ApplicationVersion[];
  readonly last: Outcome | undefined;
}

const removed = (state: CatalogueState, application: ApplicationName, versions: readonly string[]): CatalogueFact[] =>
  versions
    .filter((version) => state.versions.some((known) => known.version === version))
    .map((version) => ({ type: 'ApplicationVersionRemoved', data: { application, version } }));

/** The message may differ at each attempt; only a change of the reason is recorded. */
const isLast = (state: CatalogueState, { registration, reason, versions }: Outcome): boolean =>
  state.last?.registration === registration &&
  state.last.reason === reason &&
  (reason !== null || state.last.versions.join(' ') === versions.join(' '));

const decide = (state: CatalogueState, command: CatalogueCommand): readonly CatalogueFact[] => {
  switch (command.type) {
    case 'LookAtCatalogue':
      return nothing;
    case 'AddVersion': {
      const { version, digest } = command.data;
      const isKnown = state.versions.some((known) => known.version === version && known.digest === digest);
      return isKnown ? nothing : [{ type: 'ApplicationVersionAdded', data: command.data }];
    }
    case 'RecordSync': {
      const { application, registration, remove, keep, problem } = command.data;
      const gone = removed(state, application, remove);
      if (isLast(state, { registration, reason: problem?.reason ?? null, versions: keep })) return gone;
      const about = { application, registration };
      const outcome: CatalogueFact =
        problem === undefined
          ? { type: 'ApplicationSynchronized', data: { ...about, versions: [...keep] } }
          : { type: 'ApplicationNotSynchronized', data: { ...about, ...problem } };
      return [...gone, outcome];
    }
    case 'ForgetApplication':
      return removed(
        state,
        command.data.application,
        state.versions.map(({ version }) => version),
      );
  }
};

const evolve = (state: CatalogueState, event: StoredEvent): CatalogueState => {
  switch (event.type) {
    case 'ApplicationVersionAdded': {
      const { version, digest, appVersion } = event.data;
      const others = state.versions.filter((known) => known.version !== version);
      return { ...state, versions: [...others, { version, digest, appVersion }] };
    }
    case 'ApplicationVersionRemoved':
      return { ...state, versions: state.versions.filter(({ version }) => version !== event.data.version) };
    case 'ApplicationSynchronized': {
      const { registration, versions } = event.data;
      return { ...state, last: { registration, reason: null, versions } };
    }
    case 'ApplicationNotSynchronized': {
      const { registration, reason } = event.data;
      return { ...state, last: { registration, reason, versions: [] } };
    }
    default:
      return state;
  }
};

/** Records each change of an application in the catalogue once. */
export const catalogue: Decider<CatalogueState, CatalogueCommand, CatalogueFact> = {
  initial: { versions: [], last: undefined },
  decide,
  evolve,
};
