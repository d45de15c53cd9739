import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Of identity realms. */
export const REALM_REFUSALS = {
  'realm.not-found': definition(
    404,
    "The namespace {namespace} has no realm '{realm}'",
    'List its realms with GET /ns/{namespace}/realms.',
  ),
  'realm.issuer-invalid': definition(
    400,
    '{issuerUrl} is not the issuer of a realm of Keycloak',
    'Give the URL as the discovery document of the realm has it, such as https://id.example.org/realms/team.',
  ),
  'realm.ca-invalid': definition(
    400,
    'ca has a certificate that cannot be read: {reason}',
    'Give the authorities of the certificate of the identity provider as PEM.',
  ),
  'realm.secret-missing': definition(
    400,
    "The realm '{realm}' needs the secret of the client {clientId} at {issuerUrl}",
    'Give clientSecret. A secret that was given for another issuer, client or certificate authority (ca) is not used here.',
  ),
  'realm.in-use': definition(
    409,
    "The realm '{realm}' is used by {clusters}",
    'Delete those clusters, or give them another realm or none. If the identity provider is gone for good, delete the realm with force=true: clients and groups of these clusters then stay there.',
  ),
  'realm.would-move': definition(
    409,
    "The realm '{realm}' is used by {clusters}, and its issuer is {issuerUrl}",
    'Register the new issuer as another realm, and name that one in the manifests.',
  ),
  'realm.too-many': definition(
    409,
    'The namespace {namespace} has {max} realms already',
    'Delete one that no cluster uses.',
  ),
} as const satisfies Record<string, RefusalDefinition>;
