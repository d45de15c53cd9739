import { stateOnly, type Reconciler } from '@fairlead/event-sourcing';

/** Checks registered realms, so that problems are visible before clusters depend on them. */
export const realmsReconciler: Reconciler<null> = {
  name: 'realms',
  version: 2,
  context: 'realms',
  decider: stateOnly(null, (state) => state),
  generation: () => '',
  tasks: () => [],
  followUps: (_state, { event }) => {
    if (event?.type !== 'RealmRegistered') return [];
    const { name: namespace, realm } = event.data;
    const data = { namespace, realm, registration: event.meta.id };
    return [{ type: 'VerifyRealm', key: `VerifyRealm/${realm}`, reason: 'it was registered', data }];
  },
};
