import type { INestApplication } from '@nestjs/common';
import { SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { openApiDocument } from './openapi.document.js';

/** Serves /openapi.json, and Swagger UI at /docs. The document is made when it is first asked for. */
export const serveDocuments = (app: INestApplication): void => {
  let document: OpenAPIObject | undefined;
  const documentOnce = (): OpenAPIObject => (document ??= openApiDocument(app));
  SwaggerModule.setup('docs', app, documentOnce, {
    jsonDocumentUrl: 'openapi.json',
    customSiteTitle: 'Fairlead API',
    swaggerOptions: { persistAuthorization: false, displayRequestDuration: true },
  });
};
