import type { HostId, JoinTokenId } from '@fairlead/contracts';
import { createHash } from 'node:crypto';

const ID_LENGTH = 12;

/** The same whenever this host asks again. */
export const hostIdOfKey = (admission: JoinTokenId, user: string): HostId =>
  `host-${createHash('sha256').update(`${admission}/${user}`).digest('hex').slice(0, ID_LENGTH)}`;
