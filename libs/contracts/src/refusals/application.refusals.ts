import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Applications of the catalogue. */
export const APPLICATION_REFUSALS = {
  'application.not-found': definition(
    404,
    "The catalogue has no application '{application}'",
    'List the applications with GET /applications.',
  ),
  'application.version-not-found': definition(
    404,
    "The application '{application}' has no version {version}",
    'List its versions with GET /applications/{application}.',
  ),
  'application.range-invalid': definition(
    400,
    "'{range}' is not a range of semantic versions",
    'Give a range such as ">=8.0.0 <9.0.0", "8.x" or "^8.1".',
  ),
  'application.ca-invalid': definition(
    400,
    'ca contains a certificate that cannot be read: {reason}',
    'Provide the CA certificates of the repository in PEM.',
  ),
  'application.too-many': definition(
    409,
    'The catalogue already has {max} applications',
    'Delete one that is not needed.',
  ),
} as const satisfies Record<string, RefusalDefinition>;
