import { HttpStatus, type INestApplication } from '@nestjs/common';
import { SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { HttpResponse } from '../http/http.types.js';
import { openApiDocument } from './openapi.document.js';

/** Serves /openapi.json, and Swagger UI at /docs, to which / leads. The document is made when it is first asked for. */
export const serveDocuments = (app: INestApplication): void => {
  let document: OpenAPIObject | undefined;
  const documentOnce = (): OpenAPIObject => (document ??= openApiDocument(app));
  const adapter = app.getHttpAdapter();
  // Relative, so that it holds behind a proxy that adds a prefix.
  adapter.get('/', (_request: unknown, response: HttpResponse) => adapter.redirect(response, HttpStatus.FOUND, 'docs'));
  SwaggerModule.setup('docs', app, documentOnce, {
    jsonDocumentUrl: 'openapi.json',
    customSiteTitle: 'Fairlead API',
    swaggerOptions: { persistAuthorization: false, displayRequestDuration: true },
  });
};
