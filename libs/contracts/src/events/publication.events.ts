import * as z from 'zod';
import { ClusterUid, SecretRef } from '../ids.js';
import { DnsName, Ed25519PublicKey, PUBLICATION_BLOCKS } from '../published.names.js';
import { PublishedService, PUBLISHED_SERVICES_MAX } from '../published.services.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const port = z.int().min(1).max(65_535);

/** The names under which a cluster is reached through the tunnel. Written by infra-svc. */
export const publicationEvents = {
  EndpointBlocked: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'publication',
    doc: 'The name of the API cannot be reserved for the cluster; it is retried automatically. Recorded again when the reason changes.',
    data: z.strictObject({ uid, reason: z.enum(PUBLICATION_BLOCKS), message: z.string().max(1_000) }),
  }),
  EndpointReserved: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'publication',
    doc: 'The name of the API is reserved for the key of the cluster: no other key can hold it until the cluster is deleted.',
    data: z.strictObject({
      uid,
      name: DnsName,
      port: port.describe('Where clients reach it'),
      publicKey: Ed25519PublicKey,
      keyRef: SecretRef.describe('Where its private half is sealed'),
      tunnel: z
        .strictObject({ host: z.string().min(1).max(253), port, hostKey: Ed25519PublicKey })
        .describe('Where the control planes connect by SSH'),
    }),
  }),
  EndpointAvailable: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'publication',
    doc: 'A control plane of the cluster holds the name: clients reach the API by it.',
    data: z.strictObject({ uid, name: DnsName }),
  }),
  EndpointUnavailable: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'publication',
    doc: 'No control plane of the cluster holds the name any more.',
    data: z.strictObject({ uid, name: DnsName }),
  }),
  ServicesPublished: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'publication',
    doc: 'The names of these services of the cluster, and of no others, are for its key, with sign-in in front.',
    data: z.strictObject({ uid, services: z.array(PublishedService).max(PUBLISHED_SERVICES_MAX) }),
  }),
  PublishedServiceAvailable: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'publication',
    doc: 'A control plane of the cluster holds the name of a published service: browsers reach it.',
    data: z.strictObject({ uid, name: DnsName }),
  }),
  PublishedServiceUnavailable: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'publication',
    doc: 'No control plane of the cluster holds the name of a published service any more.',
    data: z.strictObject({ uid, name: DnsName }),
  }),
  EndpointReleased: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'publication',
    doc: 'The cluster is dismantled: its key is destroyed, and its name is free.',
    data: z.strictObject({ uid, name: DnsName.optional().describe('Absent: none was ever reserved') }),
  }),
} as const;
