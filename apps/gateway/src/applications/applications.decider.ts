import {
  APPLICATIONS_MAX,
  refuse,
  type ApplicationName,
  type ApplicationSettings,
  type Fact,
  type Refusal,
} from '@fairlead/contracts';
import { applicationsAfter, NO_APPLICATIONS, type RegisteredApplications } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { sameJson } from '../common/json.js';

interface NamedApplication {
  readonly application: ApplicationName;
}

export type RegisterApplication = Command<
  'RegisterApplication',
  NamedApplication & { readonly settings: ApplicationSettings }
>;
export type SyncApplication = Command<'SyncApplication', NamedApplication>;
export type RemoveApplication = Command<'RemoveApplication', NamedApplication>;

type ApplicationFact = Fact<'ApplicationRegistered' | 'ApplicationSyncRequested' | 'ApplicationRemoved'>;

const register = (
  state: RegisteredApplications,
  { application, settings }: RegisterApplication['data'],
): readonly ApplicationFact[] | Refusal => {
  const before = state.get(application);
  if (before === undefined && state.size >= APPLICATIONS_MAX)
    return refuse('application.too-many', { max: APPLICATIONS_MAX });
  if (before !== undefined) {
    const { registration: _registration, ...known } = before;
    if (sameJson(known, settings)) return nothing;
  }
  return [{ type: 'ApplicationRegistered', data: { name: application, ...settings } }];
};

/** The applications of the catalogue, beside the connections. */
export const applications: Decider<
  RegisteredApplications,
  RegisterApplication | SyncApplication | RemoveApplication,
  ApplicationFact
> = {
  initial: NO_APPLICATIONS,

  decide: (state, command) => {
    if (command.type === 'RegisterApplication') return register(state, command.data);
    const { application } = command.data;
    if (!state.has(application)) return refuse('application.not-found', { application });
    const type = command.type === 'SyncApplication' ? 'ApplicationSyncRequested' : 'ApplicationRemoved';
    return [{ type, data: { name: application } }];
  },

  evolve: applicationsAfter,
};
