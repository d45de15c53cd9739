import { isPublicationHeld } from '@fairlead/domain';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { publication, type PublicationCommand, type PublicationFact } from './publication.decider.js';
import type { Names } from './publication.state.js';

export const RESERVE_ENDPOINT = 'ReserveEndpoint';
export const FOLLOW_ENDPOINT = 'FollowEndpoint';
export const RELEASE_ENDPOINT = 'ReleaseEndpoint';

const task = (type: string, reason: string): Task => ({ type, key: type, reason, data: {} });

const tasksOf = (state: Names): readonly Task[] => {
  if (state.stage === 'absent') return [];
  const { stage, isDesired, publication: has } = state;
  switch (stage) {
    case 'requested':
      return [];
    case 'accepted':
      if (!isDesired) return [];
      return has.reserved === undefined
        ? [task(RESERVE_ENDPOINT, 'its API is to be reached by a name')]
        : [task(FOLLOW_ENDPOINT, `whether ${has.reserved.name} is held changes without an event`)];
    case 'leaving':
      return has.reserved === undefined ? [] : [task(FOLLOW_ENDPOINT, 'its nodes still run')];
    case 'dismantled': // It may be reserved without a record: whoever reserved it may have ended before.
      return isPublicationHeld(has, isDesired) ? [task(RELEASE_ENDPOINT, 'the cluster is dismantled')] : [];
  }
};

/** A cluster has the name of its API before its machines are requested, and loses it when it is deleted. */
export const publicationReconciler: Reconciler<Names, PublicationCommand, PublicationFact> = {
  name: 'publication',
  version: 2,
  context: 'publication',
  decider: publication,
  generation: (state) => (state.stage === 'absent' ? '' : state.uid),
  tasks: tasksOf,
};
