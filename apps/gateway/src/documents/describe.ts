import { EVENT_STORE, HANDLE, NATS, POSITIONS, TAIL } from '@fairlead/event-sourcing/jetstream';
import { Alarms, CLOCK, DATABASE, LogOwnership, METRICS, SECRETS, ServiceMetrics } from '@fairlead/service-kit';
import { Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import 'reflect-metadata';
import { readSettings } from '../config.js';
import { gatewayModule } from '../gateway.module.js';
import { openApiDocument } from './openapi.document.js';

const WORLD = [EVENT_STORE, HANDLE, NATS, POSITIONS, TAIL, CLOCK, DATABASE, SECRETS];

/** Stands where the world would be: there is nothing, and nothing asks for it. */
@Global()
@Module({
  providers: [
    ...WORLD.map((provide) => ({ provide, useValue: {} })),
    { provide: METRICS, useValue: new ServiceMetrics('gateway') },
    Alarms,
    { provide: LogOwnership, useValue: {} },
  ],
  exports: [...WORLD, METRICS, Alarms, LogOwnership],
})
class NoWorld {}

@Module({ imports: [NoWorld, gatewayModule(readSettings({}))] })
class Described {}

/** The OpenAPI document, made without a world. For the generator and its check. */
export const describeApi = async (): Promise<OpenAPIObject> => {
  const app = await NestFactory.create<NestExpressApplication>(Described, { logger: false, abortOnError: false });
  return openApiDocument(app);
};
