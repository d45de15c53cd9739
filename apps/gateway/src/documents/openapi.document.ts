import { DocumentBuilder, SwaggerModule, type OpenAPIObject, type SwaggerDocumentOptions } from '@nestjs/swagger';
import type { INestApplication } from '@nestjs/common';
import * as z from 'zod';
import { KIT_PATHS } from '../access/access.js';
import { LADYBUG } from '../http/documented.js';
import { FAIRLEAD_VERSION } from '../version.js';
import { withSharedParts } from './shared.parts.js';

interface JsonSchema {
  readonly $defs?: Readonly<Record<string, object>>;
  readonly [key: string]: unknown;
}

/** The limits of numbers in JavaScript say nothing of what is answered. */
const isAnyInteger = ({ minimum, maximum }: { readonly minimum?: number; readonly maximum?: number }): boolean =>
  minimum === Number.MIN_SAFE_INTEGER && maximum === Number.MAX_SAFE_INTEGER;

/** Schemas with an id become components; OpenAPI 3.1 uses the same JSON Schema as zod. */
const convertSchema: SwaggerDocumentOptions['standardSchemaConverter'] = (schema, { schemaType }) => {
  if (!(schema instanceof z.ZodType)) return undefined;
  const {
    $schema: _dialect,
    $defs: components = {},
    ...converted
  } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: schemaType,
    unrepresentable: 'any',
    // The pattern of a date-time is a page long and says no more than its format.
    override: ({ jsonSchema }) => {
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      if (schemaType === 'output' && isAnyInteger(jsonSchema)) {
        delete jsonSchema.minimum;
        delete jsonSchema.maximum;
      }
    },
  }) as JsonSchema;
  return { schema: converted, components };
};

const DESCRIPTION = `Fairlead builds Kubernetes clusters and keeps them as desired. A command is checked, recorded as an event and
answered at once (202, with Location and X-Fairlead-Seq); what follows can be seen in operations and events.

The routes and fields of CB-Ladybug are served unchanged, also below /ladybug. An error names a stable code (reason), a sentence, the
field that is wrong and what can be done about it.`;

const builder = () =>
  new DocumentBuilder()
    .setTitle('Fairlead')
    .setDescription(DESCRIPTION)
    .setVersion(FAIRLEAD_VERSION)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .setOpenAPIVersion('3.1.0')
    .addServer('/', 'This gateway')
    .addServer(`/${LADYBUG}`, "CB-Ladybug's base path")
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'An API token' }, 'token')
    .addSecurityRequirements('token');

/** The other base path is a server of its own; health is for supervisors, and open to all. */
const ofThisApi = ([path]: readonly [string, unknown]): boolean =>
  !path.startsWith(`/${LADYBUG}/`) && !KIT_PATHS.has(path);

/** The OpenAPI document of the gateway. Routes are listed once: the second server stands for the other base path. */
export const openApiDocument = (app: INestApplication): OpenAPIObject => {
  const document = SwaggerModule.createDocument(app, builder().build(), { standardSchemaConverter: convertSchema });
  const paths = Object.fromEntries(Object.entries(document.paths).filter(ofThisApi));
  return withSharedParts({ ...document, paths });
};
