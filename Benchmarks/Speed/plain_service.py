"""A typical hand-written service: FastAPI, a connection pool of psycopg, one query, and orjson.

It is only a baseline. It has four parameters, and checks only their types. It sends no tokens or entity tags, limits neither its
clients nor the size of a response, and builds each response in memory. It needs fastapi, psycopg[pool], orjson and uvicorn.
DATABASE_URL names the database.

    uvicorn plain_service:app --workers 2
"""

import os
from contextlib import asynccontextmanager
from datetime import datetime, timezone

import orjson
from fastapi import FastAPI, Response
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

PROPERTIES = {
    "magnitude": "mag", "place": "place", "time": "time", "updated": "updated", "tz": "tz", "url": "url",
    "detail": "detail", "felt": "felt", "cdi": "cdi", "mmi": "mmi", "alert": "alert", "status": "status",
    "tsunami": "tsunami", "sig": "sig", "net": "net", "net_code": "code", "ids": "ids", "sources": "sources",
    "types": "types", "nst": "nst", "dmin": "dmin", "rms": "rms", "gap": "gap", "magnitude_type": "magType",
    "type": "type", "title": "title",
}
TIMES, LISTS = ("time", "updated"), ("ids", "sources", "types")
QUERY = f"""
    select {', '.join(PROPERTIES)}, code, longitude, latitude, depth, extra from quake
    where time >= %s and time <= %s and magnitude >= %s
    order by time desc, code collate "C" limit %s"""

pool = AsyncConnectionPool(os.environ["DATABASE_URL"], open=False, min_size=4, max_size=4,
                           kwargs={"row_factory": dict_row})


@asynccontextmanager
async def lifespan(_):
    async with pool:
        yield


app = FastAPI(lifespan=lifespan)


def feature(row):
    properties = {name: row[column] for column, name in PROPERTIES.items()}
    for name in TIMES:
        properties[name] = int(properties[name].timestamp() * 1000)
    for name in LISTS:
        if properties[name] is not None:
            properties[name] = f",{','.join(properties[name])},"
    properties["tsunami"] = int(properties["tsunami"] or 0)
    properties.update(row["extra"] or {})
    return {"type": "Feature", "properties": properties, "id": row["code"],
            "geometry": {"type": "Point", "coordinates": [row["longitude"], row["latitude"], row["depth"]]}}


@app.get("/query")
async def query(starttime: datetime, endtime: datetime, minmagnitude: float = -10, limit: int = 20_000):
    async with pool.connection() as connection:
        rows = await (await connection.execute(
            QUERY, (starttime.replace(tzinfo=timezone.utc), endtime.replace(tzinfo=timezone.utc), minmagnitude, limit)
        )).fetchall()
    return Response(orjson.dumps({"type": "FeatureCollection", "metadata": {"count": len(rows)},
                                  "features": [feature(row) for row in rows]}), media_type="application/json")
