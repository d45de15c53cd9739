import { job, type Process } from '@fairlead/event-sourcing';

export const VERIFY_REALM = 'VerifyRealm';

/** A realm that is registered is looked at, so that people see what is wrong before they build on it. */
export const realmsProcess: Process<null> = {
  name: 'realms',
  version: 1,
  initial: null,
  evolve: (state) => state,
  react: (_state, event) => {
    if (event.type !== 'RealmRegistered') return [];
    const { name: namespace, realm } = event.data;
    return [job(VERIFY_REALM, { namespace, realm, registration: event.meta.id })];
  },
};
