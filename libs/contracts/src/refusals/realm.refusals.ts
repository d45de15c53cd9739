import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Identity realms. */
export const REALM_REFUSALS = {
  'realm.not-found': definition(
    404,
    "The namespace {namespace} has no realm '{realm}'",
    'List its realms with GET /ns/{namespace}/realms.',
  ),
  'realm.issuer-invalid': definition(
    400,
    '{issuerUrl} is not the issuer of a realm of Keycloak',
    'Use the URL of the discovery document of the realm, such as https://id.example.org/realms/team.',
  ),
  'realm.not-creatable': definition(
    400,
    'Fairlead does not create the realm of {issuerUrl}',
    'Use a name of letters, digits, - and _ other than master; or create the realm yourself, and register it without create.',
  ),
  'realm.ca-invalid': definition(
    400,
    'ca contains a certificate that cannot be read: {reason}',
    'Provide the CA certificates of the identity provider in PEM.',
  ),
  'realm.secret-missing': definition(
    400,
    "The realm '{realm}' needs the secret of the client {clientId} at {issuerUrl}",
    'Give clientSecret. A secret that was given for another issuer, client or certificate authority (ca), or before create was changed, is not used here.',
  ),
  'realm.in-use': definition(
    409,
    "The realm '{realm}' is used by {clusters}",
    'Delete those clusters, or change their realm. If the identity provider no longer exists, delete the realm with force=true: clients and groups of these clusters are then kept there.',
  ),
  'realm.would-move': definition(
    409,
    "The realm '{realm}' is used by {clusters}, and its issuer is {issuerUrl}",
    'Register the new issuer as another realm, and reference it in the manifests.',
  ),
  'realm.too-many': definition(
    409,
    'The namespace {namespace} already has {max} realms',
    'Delete one that no cluster uses.',
  ),
} as const satisfies Record<string, RefusalDefinition>;
