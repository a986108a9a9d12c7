"""Opens report.event_geometry as a layer of QGIS that a notification refreshes, as docs/reporting.md shows.

    Tests/Clients/qgis_layer.py URL         (with the Python for which Debian's python3-qgis is installed)

The script prints the number of features in the layer, and commits a new event. Once QGIS has refreshed the layer, the script
prints the event's point in the layer.
"""

import os
import sys

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psycopg2
from psycopg2.extensions import parse_dsn
from qgis.core import QgsApplication, QgsDataSourceUri, QgsVectorLayer
from qgis.PyQt.QtCore import QEventLoop

url = sys.argv[1]
application = QgsApplication([], False)
application.initQgis()

address = parse_dsn(url)
uri = QgsDataSourceUri()
uri.setConnection(address["host"], address.get("port", ""), address["dbname"], address.get("user", ""), address.get("password", ""))
uri.setDataSource("report", "event_geometry", "geometry", "", "code")
layer = QgsVectorLayer(uri.uri(False), "earthquakes", "postgres")
assert layer.isValid(), layer.error().message()
print(f"{layer.featureCount()} features, {layer.crs().authid()}, a layer of points: {layer.geometryType() == 0}", flush=True)

loop = QEventLoop()
layer.setRefreshOnNofifyMessage("quake")  # QGIS spells the name this way
layer.setRefreshOnNotifyEnabled(True)
layer.repaintRequested.connect(loop.quit)
database = psycopg2.connect(url)
with database, database.cursor() as cursor:
    cursor.execute("""insert into quake (code, net, net_code, time, updated, longitude, latitude)
                      values ('q9qgis', 'q9', 'qgis', now(), now(), 12, 34)""")
loop.exec_()
layer.reload()
found = [feature.geometry().asPoint() for feature in layer.getFeatures("code = 'q9qgis'")]
print(f"refreshed: {[(point.x(), point.y()) for point in found]}", flush=True)
database.close()
del layer
application.exitQgis()
