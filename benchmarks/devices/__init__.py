"""Mileage compared with hdparm and dd on one loop device, in turn: do they measure the same speed?"""
