import * as z from 'zod';
import { ClusterUid, Namespace, RealmName, SecretRef } from '../ids.js';
import { IdentityBlock, RealmClient, RealmProblem, RealmSettings } from '../realm.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const message = z.string().max(4_000);

const ofNamespace = { name: Namespace, realm: RealmName };

/** Identity realms of a namespace: registrations, and their state as checked by infra-svc. */
export const realmEvents = {
  RealmRegistered: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'Clusters of the namespace can have their users sign in at this realm of an identity provider; registering it again replaces its settings.',
    data: z.strictObject({ ...ofNamespace, ...RealmSettings.shape, secretRef: SecretRef }),
  }),
  RealmCredentialRead: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'The credential of the realm was read back by an administrator of its namespace.',
    data: z.strictObject(ofNamespace),
  }),
  RealmRemoved: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'The namespace no longer has this realm, and its credential was deleted.',
    data: z.strictObject({
      ...ofNamespace,
      abandoned: z.array(z.string()).optional().describe('Clusters whose client and group stay there; absent: none'),
    }),
  }),
  RealmReady: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'realms',
    scope: 'namespace',
    doc: 'The realm answers as its issuer, and lets Fairlead manage clients and groups.',
    data: z.strictObject({ ...ofNamespace, registration: z.string().describe('The RealmRegistered that was tried') }),
  }),
  RealmNotReady: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'realms',
    scope: 'namespace',
    doc: 'The realm cannot be used now; recorded again when the reason changes.',
    data: z.strictObject({
      ...ofNamespace,
      registration: z.string().describe('The RealmRegistered that was tried'),
      reason: RealmProblem,
      message,
    }),
  }),
} as const;

/** Clients and groups of a cluster at identity providers. Written by infra-svc. */
export const identityEvents = {
  IdentityBlocked: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'identity',
    doc: 'The client of the cluster cannot be created at its realm, or deleted there; it is retried automatically. Recorded again when the reason changes.',
    data: z.strictObject({
      uid,
      realm: RealmName.nullable().describe('null: none is named, and the namespace has none'),
      reason: IdentityBlock,
      message,
    }),
  }),
  IdentityRequested: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'identity',
    doc: 'A client and a group of the cluster are created at this realm. From now on they may exist, and they are deleted with the cluster.',
    data: z.strictObject({ uid, ...RealmClient.shape }),
  }),
  IdentityReady: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'identity',
    doc: 'Users of the cluster can sign in at this issuer with this client, and the group with access to the cluster exists.',
    data: z.strictObject({ uid, ...RealmClient.shape }),
  }),
  IdentityReleased: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'identity',
    doc: 'The realm no longer has a client and a group of the cluster.',
    data: z.strictObject({
      uid,
      realm: RealmName,
      left: z
        .literal(true)
        .optional()
        .describe('The realm is no longer registered: its client and group of the cluster are kept there'),
    }),
  }),
} as const;
