import * as z from 'zod';
import { Sha256 } from '../digests.js';
import { ClusterUid, ConnectionName, PoolName, SecretRef } from '../ids.js';
import { HostFacts, HostId, HostLabels, JoinTokenId, NatsUser } from '../joins/join.tokens.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const admission = JoinTokenId.describe('The id of the token. The token itself is in no event');

/** Hosts that join by themselves. Written by the gateway. */
export const joinEvents = {
  JoinTokenIssued: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'joins',
    doc: 'A token was issued that admits exactly one host to a pool, until it expires.',
    data: z.strictObject({
      uid,
      pool: PoolName,
      connection: ConnectionName,
      admission,
      sha256: Sha256.describe('Of the token'),
      expiresAt: z.iso.datetime(),
    }),
  }),
  HostTokenIssued: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'joins',
    doc: 'A token was issued that registers exactly one host with a cluster, before any pool, until it expires.',
    data: z.strictObject({
      uid,
      admission,
      labels: HostLabels.describe('Of the host, by which a pool claims it'),
      sha256: Sha256.describe('Of the token'),
      expiresAt: z.iso.datetime(),
    }),
  }),
  HostRegistered: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'joins',
    doc: 'A host presented a token that was issued for no pool. It waits until a pool claims it (HostAdmitted); nothing is done on it before.',
    data: z.strictObject({
      uid,
      admission,
      hostId: HostId,
      user: NatsUser.describe('The key with which the host will connect'),
      facts: HostFacts.describe('As the host states them'),
      labels: HostLabels,
    }),
  }),
  HostUnregistered: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'joins',
    doc: 'A registered host that no pool has claimed was removed: it cannot become a node by its token any more.',
    data: z.strictObject({ uid, hostId: HostId }),
  }),
  BootstrapDataGenerated: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'joins',
    doc: 'The bootstrap data of a pool exist: hosts can join it with tokens that are derived from a sealed key and the time.',
    data: z.strictObject({
      uid,
      pool: PoolName,
      connection: ConnectionName,
      admission: JoinTokenId.describe('The id of the tokens. The tokens themselves are in no event'),
      keyRef: SecretRef.describe('The sealed key from which the tokens are derived'),
    }),
  }),
  HostAdmitted: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'joins',
    doc: 'A host presented a valid token, or a pool claimed a registered one; the host becomes a node of the pool. A token that was issued for one host is used up.',
    data: z.strictObject({
      uid,
      pool: PoolName,
      connection: ConnectionName,
      admission,
      hostId: HostId,
      user: NatsUser.describe('The key with which the host connects'),
      facts: HostFacts.describe('As the host states them'),
      machine: z
        .string()
        .max(128)
        .optional()
        .describe(
          'The machine that it is, by its id at the provider, which the provider has reported; absent: no provider made it',
        ),
      late: z.literal(true).optional().describe('Its token had expired, and the word of the provider counted'),
    }),
  }),
};
