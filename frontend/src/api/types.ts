import type { components } from "./schema";

/** The server's names for what the pages show; the shapes are generated from its OpenAPI. */
type Schemas = components["schemas"];

export type Attempt = Schemas["Attempt"];
export type Figure = Schemas["Figure"];
export type FigureBody = Schemas["FigureBody"];
export type FigureTable = Schemas["FigureTable"];
export type Job = Schemas["Job"];
export type JobSource = Schemas["JobSource"];
export type JobState = JobSummary["state"];
export type JobSummary = Schemas["JobSummary"];
export type MixEdit = Schemas["MixEdit"];
export type MixLife = Schemas["MixLife"];
export type MixPreview = Schemas["MixPreview"];
export type MixVersion = Schemas["MixVersion"];
export type RankList = Schemas["RankList"];
export type RankState = Schemas["RankState"];
export type Session = Schemas["Session"];
export type SourceShare = Schemas["SourceShare"];
